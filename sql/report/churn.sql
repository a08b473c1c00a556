-- Which share of those who were active when a period began had left when it ended? Dated on the day access was lost.
create view report.churn as
with daily as (
    select
        app_id,
        environment,
        store,
        day,
        sum(active) as active,
        sum(reactivated) as reactivated,
        sum(churned_voluntary) as churned_voluntary,
        sum(churned_billing) as churned_billing,
        sum(churned_price_increase) as churned_price_increase,
        sum(churned_product_unavailable) as churned_product_unavailable,
        sum(churned_refunded) as churned_refunded,
        sum(churned_other) as churned_other,
        sum(churned_unconfirmed) as churned_unconfirmed
    from measure.daily_movement
    group by app_id, environment, store, day
),

mrr as (
    select
        app_id,
        environment,
        store,
        day,
        sum(converted) as converted,
        sum(unconverted) as unconverted
    from measure.daily_mrr
    group by app_id, environment, store, day
),

kind as (
    select *
    from (
        values
        ('day', interval '1 day'), ('week', interval '7 days'), ('month', interval '1 month'),
        ('quarter', interval '3 months'), ('year', interval '1 year')
    ) as kinds (period, length)
),

first_day as (
    select
        app_id,
        environment,
        store,
        min(day) as day
    from daily
    group by app_id, environment, store
),

period as (
    select
        first_day.app_id,
        first_day.environment,
        first_day.store,
        kind.period,
        starts.on_day::date as starts_on,
        ((starts.on_day + kind.length) at time zone latest.zone) <= latest.as_of as is_complete
    from first_day
    cross join measure.latest as latest
    cross join kind
    cross join lateral generate_series(
        date_trunc(kind.period, first_day.day::timestamp), latest.day::timestamp, kind.length
    ) as starts (on_day)
),

-- What stood when each day began.
standing as (
    select
        first_day.app_id,
        first_day.environment,
        first_day.store,
        days.day::date as day,
        sum(daily.active) over days_before as active,
        sum(mrr.converted) over days_before as converted,
        sum(mrr.unconverted) over days_before as unconverted
    from first_day
    cross join measure.latest as latest
    cross join lateral generate_series(first_day.day, latest.day, interval '1 day') as days (day)
    left join daily
        on
            first_day.app_id = daily.app_id
            and first_day.environment = daily.environment
            and first_day.store = daily.store
            and days.day::date = daily.day
    left join mrr
        on
            first_day.app_id = mrr.app_id
            and first_day.environment = mrr.environment
            and first_day.store = mrr.store
            and days.day::date = mrr.day
    window days_before as (
        partition by first_day.app_id, first_day.environment, first_day.store
        order by days.day
        rows between unbounded preceding and 1 preceding
    )
),

moved as (
    select
        daily.app_id,
        daily.environment,
        daily.store,
        kind.period,
        date_trunc(kind.period, daily.day::timestamp)::date as starts_on,
        sum(daily.reactivated) as reactivated,
        sum(daily.churned_voluntary) as churned_voluntary,
        sum(daily.churned_billing) as churned_billing,
        sum(daily.churned_price_increase) as churned_price_increase,
        sum(daily.churned_product_unavailable) as churned_product_unavailable,
        sum(daily.churned_refunded) as churned_refunded,
        sum(daily.churned_other) as churned_other,
        sum(daily.churned_unconfirmed) as churned_unconfirmed
    from daily
    cross join kind
    group by
        daily.app_id, daily.environment, daily.store, kind.period, date_trunc(kind.period, daily.day::timestamp)::date
),

counted as (
    select
        period.*,
        coalesce(standing.active, 0)::bigint as active_at_start,
        standing.converted as mrr_at_start,
        coalesce(standing.unconverted, 0) as unconverted_at_start,
        coalesce(moved.reactivated, 0)::bigint as reactivated,
        coalesce(moved.churned_voluntary, 0)::bigint as churned_voluntary,
        coalesce(moved.churned_billing, 0)::bigint as churned_billing,
        coalesce(moved.churned_price_increase, 0)::bigint as churned_price_increase,
        coalesce(moved.churned_product_unavailable, 0)::bigint as churned_product_unavailable,
        coalesce(moved.churned_refunded, 0)::bigint as churned_refunded,
        coalesce(moved.churned_other, 0)::bigint as churned_other,
        coalesce(moved.churned_unconfirmed, 0)::bigint as churned_unconfirmed
    from period
    left join moved using (app_id, environment, store, period, starts_on)
    left join standing
        on
            period.app_id = standing.app_id
            and period.environment = standing.environment
            and period.store = standing.store
            and period.starts_on = standing.day
)

select
    app.app_key as app,
    counted.environment,
    counted.store,
    counted.period,
    counted.starts_on,
    counted.active_at_start,
    coalesce(total.churned, 0) as churned,
    coalesce(total.churned_same_period, 0) as churned_same_period,
    trim_scale(round(coalesce(total.churned, 0) / nullif(counted.active_at_start, 0)::numeric, 6)) as churn_rate,
    trim_scale(
        round((counted.churned_voluntary
            + counted.churned_billing
            + counted.churned_price_increase
            + counted.churned_product_unavailable
            + counted.churned_refunded
            + counted.churned_other
            + counted.churned_unconfirmed) / nullif(counted.active_at_start, 0)::numeric, 6)
    ) as churn_rate_gross,
    trim_scale(
        round(
            (counted.churned_voluntary
                + counted.churned_billing
                + counted.churned_price_increase
                + counted.churned_product_unavailable
                + counted.churned_refunded
                + counted.churned_other
                + counted.churned_unconfirmed
                - counted.reactivated) / nullif(counted.active_at_start, 0)::numeric, 6)
    ) as churn_rate_net,
    case
        when counted.unconverted_at_start = 0 and coalesce(total.unconverted, 0) = 0
            then
                trim_scale(
                    round(
                        (coalesce(total.churned_mrr, 0) + coalesce(total.contracted_mrr, 0))
                        / nullif(counted.mrr_at_start, 0), 6
                    )
                )
    end as mrr_churn_rate,
    counted.churned_voluntary,
    counted.churned_billing,
    counted.churned_price_increase,
    counted.churned_product_unavailable,
    counted.churned_refunded,
    counted.churned_other,
    counted.churned_unconfirmed,
    counted.is_complete
from counted
inner join ingest.app as app using (app_id)
left join measure.period_churn as total using (app_id, environment, store, period, starts_on);

comment on view report.churn is
'Churn, one row per app, store and period: day, week (from Monday), month, quarter and year';
comment on column report.churn.app is 'Dimension: the app''s key';
comment on column report.churn.environment is 'Dimension: the store''s environment';
comment on column report.churn.store is 'Dimension: the store';
comment on column report.churn.period is 'Dimension: day, week, month, quarter or year';
comment on column report.churn.starts_on is 'Dimension: the period''s first reporting day';
comment on column report.churn.active_at_start is 'Opening: active subscriptions at the start of the period';
comment on column report.churn.churned is
'Count: chains active at the start whose last movement in the period is a churn';
comment on column report.churn.churned_same_period is 'Count: the same for chains that were not active at the start';
comment on column report.churn.churn_rate is 'Rate: churned / active_at_start';
comment on column report.churn.churn_rate_gross is 'Rate: every churn in the period / active_at_start';
comment on column report.churn.churn_rate_net is
'Rate: every churn less reactivations / active_at_start; may be negative';
comment on column report.churn.mrr_churn_rate is
'Rate: contraction and churned MRR of those active at the start / MRR at the start, converted; null where part of it has '
'no rate';
comment on column report.churn.churned_voluntary is 'Flow: churns, auto-renew was off';
comment on column report.churn.churned_billing is
'Flow: churns, the charge failed for good; dated on the day access was lost';
comment on column report.churn.churned_price_increase is 'Flow: churns, no consent to a higher price';
comment on column report.churn.churned_product_unavailable is 'Flow: churns, the product could no longer be bought';
comment on column report.churn.churned_refunded is 'Flow: churns, a refund ended the period';
comment on column report.churn.churned_other is 'Flow: churns, for another reason of the store';
comment on column report.churn.churned_unconfirmed is 'Flow: churns, the period ended and no word came';
comment on column report.churn.is_complete is 'Detail: false for a period that has not ended';

grant select on report.churn to tenure_reader, tenure_support, tenure_writer;
