-- What did each run change of days that an earlier run had already told whole, and why? Stocks follow from the movements: what is
-- listed are changes of the day's flows, and shares. Revenue and MRR stand in units of their currency.
create view report.restatements as
-- An amount, how many parts of it are unknown, and of a share the whole it is of.
with change as (
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store as store,
        null::text as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    -- Summed over products, countries and offers first: there are a hundred rows of them to one of these.
    from (
        select
            run_id,
            app_id,
            environment,
            store,
            day,
            sum(new) as new,
            sum(trial_converted) as trial_converted,
            sum(reactivated) as reactivated,
            sum(won_back) as won_back,
            sum(recovered) as recovered,
            sum(refund_reversed) as refund_reversed,
            sum(resumed) as resumed,
            sum(moved_in) as moved_in,
            sum(churned_voluntary) as churned_voluntary,
            sum(churned_billing) as churned_billing,
            sum(churned_price_increase) as churned_price_increase,
            sum(churned_product_unavailable) as churned_product_unavailable,
            sum(churned_refunded) as churned_refunded,
            sum(churned_other) as churned_other,
            sum(churned_unconfirmed) as churned_unconfirmed,
            sum(suspended) as suspended,
            sum(pauses) as pauses,
            sum(moved_out) as moved_out,
            sum(renewed) as renewed,
            sum(upgraded) as upgraded,
            sum(downgraded) as downgraded,
            sum(crossgraded) as crossgraded
        from measure.daily_movement_change
        group by run_id, app_id, environment, store, day
    ) as change
    cross join lateral (
        values
            ('movements.new', change.new, 0, null::numeric),
            ('movements.trial_converted', change.trial_converted, 0, null::numeric),
            ('movements.reactivated', change.reactivated, 0, null::numeric),
            ('movements.won_back', change.won_back, 0, null::numeric),
            ('movements.recovered', change.recovered, 0, null::numeric),
            ('movements.refund_reversed', change.refund_reversed, 0, null::numeric),
            ('movements.resumed', change.resumed, 0, null::numeric),
            ('movements.moved_in', change.moved_in, 0, null::numeric),
            ('movements.churned_voluntary', change.churned_voluntary, 0, null::numeric),
            ('movements.churned_billing', change.churned_billing, 0, null::numeric),
            ('movements.churned_price_increase', change.churned_price_increase, 0, null::numeric),
            ('movements.churned_product_unavailable', change.churned_product_unavailable, 0, null::numeric),
            ('movements.churned_refunded', change.churned_refunded, 0, null::numeric),
            ('movements.churned_other', change.churned_other, 0, null::numeric),
            ('movements.churned_unconfirmed', change.churned_unconfirmed, 0, null::numeric),
            ('movements.suspended', change.suspended, 0, null::numeric),
            ('movements.paused', change.pauses, 0, null::numeric),
            ('movements.moved_out', change.moved_out, 0, null::numeric),
            ('movements.renewed', change.renewed, 0, null::numeric),
            ('movements.upgraded', change.upgraded, 0, null::numeric),
            ('movements.downgraded', change.downgraded, 0, null::numeric),
            ('movements.crossgraded', change.crossgraded, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        null as store,
        null as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_subscriber_change as change
    cross join lateral (
        values
            ('active_subscribers.active_subscribers', change.active, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store as store,
        nullif(change.currency, '') as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_revenue_change as change
    cross join lateral (
        values
            ('revenue.charges', change.charges, 0, null::numeric),
            ('revenue.unpriced_charges', change.unpriced_charges, 0, null::numeric),
            ('revenue.gross', change.gross / 1000000.0, 0, null::numeric),
            ('revenue.refunds', change.refunds / 1000000.0, 0, null::numeric),
            ('revenue.refunds_by_purchase_day', change.refunds_by_purchase_day / 1000000.0, 0, null::numeric),
            ('revenue.tax', change.tax / 1000000.0, change.untaxed, null::numeric),
            ('revenue.commission', change.commission / 1000000.0, change.uncommissioned, null::numeric),
            ('revenue.proceeds', change.proceeds / 1000000.0, change.unproceeded, null::numeric),
            ('refunds.refunded_charges', change.refunded_charges, 0, null::numeric),
            ('refunds.refunded_charges_by_purchase_day', change.refunded_charges_by_purchase_day, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store as store,
        null as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_revenue_change as change
    cross join lateral (
        values
            ('revenue.net_converted', change.converted / 1000000.0, 0, null::numeric),
            ('revenue.unconverted_charges', change.unconverted, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store as store,
        nullif(change.currency, '') as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_mrr_change as change
    cross join lateral (
        values
            ('mrr_movement.new', change.new / 1000000.0, 0, null::numeric),
            ('mrr_movement.reactivation', change.reactivation / 1000000.0, 0, null::numeric),
            ('mrr_movement.expansion', change.expansion / 1000000.0, 0, null::numeric),
            ('mrr_movement.contraction', change.contraction / 1000000.0, 0, null::numeric),
            ('mrr_movement.churn', change.churn / 1000000.0, 0, null::numeric),
            ('mrr_movement.suspension', change.suspension / 1000000.0, 0, null::numeric),
            ('mrr_movement.recovery', change.recovery / 1000000.0, 0, null::numeric),
            ('mrr_movement.moved_in', change.moved_in / 1000000.0, 0, null::numeric),
            ('mrr_movement.moved_out', change.moved_out / 1000000.0, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store as store,
        null as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_mrr_change as change
    cross join lateral (
        values
            ('mrr.mrr_converted', change.converted / 1000000.0, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store as store,
        null as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_trial_change as change
    cross join lateral (
        values
            ('trials.started', change.started, 0, null::numeric),
            ('trials.converted', change.converted, 0, null::numeric),
            ('trials.expired', change.expired, 0, null::numeric),
            ('trials.cancelled', change.cancelled, 0, null::numeric),
            ('trials.running', change.running, 0, null::numeric),
            ('trials.in_retry', change.in_retry, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store as store,
        null as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_renewal_change as change
    cross join lateral (
        values
            ('renewal_rate.due', change.due, 0, null::numeric),
            ('renewal_rate.renewed', change.renewed, 0, null::numeric),
            ('renewal_rate.recovered_in_grace', change.recovered_in_grace, 0, null::numeric),
            ('renewal_rate.recovered_in_retry', change.recovered_in_retry, 0, null::numeric),
            ('renewal_rate.changed_product', change.changed_product, 0, null::numeric),
            ('renewal_rate.lost', change.lost, 0, null::numeric),
            ('renewal_rate.open', change.open, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store as store,
        null as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_failure_change as change
    cross join lateral (
        values
            ('billing_recovery.entered_grace', change.entered_grace, 0, null::numeric),
            ('billing_recovery.entered_retry', change.entered_retry, 0, null::numeric),
            ('billing_recovery.recovered_in_grace', change.recovered_in_grace, 0, null::numeric),
            ('billing_recovery.recovered_in_retry', change.recovered_in_retry, 0, null::numeric),
            ('billing_recovery.lost', change.lost, 0, null::numeric),
            ('billing_recovery.open', change.open, 0, null::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store,
        null,
        change.starts_on,
        (
            change.starts_on
            + case change.period when 'quarter' then interval '3 months' else ('1 ' || change.period)::interval end
        )::date,
        figure.metric || case when change.period = 'day' then '' else ' by ' || change.period end,
        figure.amount,
        0,
        null
    from measure.period_churn_change as change
    cross join lateral (
        values
            ('churn.churned', change.churned),
            ('churn.churned_same_period', change.churned_same_period)
    ) as figure (metric, amount)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        null as store,
        null as currency,
        change.day as day,
        change.day + 1 as ends_on,
        figure.metric,
        figure.amount,
        figure.unknown,
        figure.whole
    from measure.daily_customer_change as change
    cross join lateral (
        values
            ('customers.new_customers', change.new_customers, 0, null::numeric),
            ('customers.new_paying', change.new_paying, 0, null::numeric),
            ('customers.started_trial_7d', change.started_trial_7d, 0, change.new_customers::numeric),
            ('customers.started_trial_14d', change.started_trial_14d, 0, change.new_customers::numeric),
            ('customers.started_trial_30d', change.started_trial_30d, 0, change.new_customers::numeric),
            ('customers.paid_7d', change.paid_7d, 0, change.new_customers::numeric),
            ('customers.paid_14d', change.paid_14d, 0, change.new_customers::numeric),
            ('customers.paid_30d', change.paid_30d, 0, change.new_customers::numeric),
            ('customers.arppu', 0, 0, change.payers::numeric)
    ) as figure (metric, amount, unknown, whole)
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        null,
        null,
        change.day,
        change.day + 1,
        'customers.arppu',
        change.converted / 1000000.0,
        0,
        0
    from measure.daily_revenue_change as change
),

summed as (
    select
        run_id,
        app_id,
        environment,
        store,
        currency,
        day,
        ends_on,
        metric,
        sum(amount) as amount,
        sum(unknown) as unknown,
        sum(whole) as whole
    from change
    -- Most of what a row could have moved did not move.
    where amount <> 0 or unknown <> 0 or whole <> 0
    group by run_id, app_id, environment, store, currency, day, ends_on, metric
),

counted as (
    select
        summed.*,
        coalesce(sum(amount) over earlier, 0) as amount_before,
        coalesce(sum(unknown) over earlier, 0) as unknown_before,
        case when whole is not null then coalesce(sum(whole) over earlier, 0) end as whole_before
    from summed
    window earlier as (
        partition by app_id, environment, store, currency, day, metric
        order by run_id
        rows between unbounded preceding and 1 preceding
    )
),

figure as (
    select
        counted.*,
        case
            when unknown_before <> 0 then null
            when whole is not null then round(amount_before / nullif(whole_before, 0), 6)
            else amount_before
        end as before,
        case
            when unknown_before + unknown <> 0 then null
            when whole is not null then round((amount_before + amount) / nullif(whole_before + whole, 0), 6)
            else amount_before + amount
        end as after
    from counted
),

told as (
    select
        run.run_id,
        run.book_id <> lag(run.book_id) over (order by run.run_id) as is_new_book,
        lag(run.as_of) over (order by run.run_id) as as_of_before,
        lag(book.settings ->> 'timezone') over (order by run.run_id) as zone_before
    from measure.run as run
    inner join measure.book as book using (book_id)
    where run.outcome = 'done'
)

select
    app.app_key as app,
    figure.environment,
    figure.store,
    figure.run_id as run,
    figure.day,
    figure.metric,
    figure.currency,
    trim_scale(figure.before) as before,
    trim_scale(figure.after) as after,
    coalesce(posted.entries, 0) as entries,
    case
        when told.is_new_book then 'setting'
        when
            figure.metric in (
                'revenue.net_converted', 'revenue.unconverted_charges', 'mrr.mrr_converted', 'customers.arppu'
            )
            and posted.entries is null
            then 'new rates'
        else 'new facts'
    end as cause,
    (figure.ends_on::timestamp at time zone latest.zone) <= latest.as_of as is_complete
from figure
inner join told using (run_id)
inner join ingest.app as app using (app_id)
cross join measure.latest as latest
left join lateral (
    select sum(posted_day.entries)::bigint as entries
    from measure.posted_day
    where
        posted_day.run_id = figure.run_id
        and posted_day.app_id = figure.app_id
        and posted_day.environment = figure.environment
        and posted_day.day >= figure.day
        and posted_day.day < figure.ends_on
        and (figure.store is null or posted_day.store = figure.store)
) as posted on true
where
    (figure.before is distinct from figure.after)
    and figure.ends_on::timestamp at time zone told.zone_before <= told.as_of_before;

comment on view report.restatements is
'What runs changed of days that had been told whole before, one row per run, day and figure, with the cause';
comment on column report.restatements.app is 'Dimension: the app''s key';
comment on column report.restatements.environment is 'Dimension: the store''s environment';
comment on column report.restatements.store is 'Dimension: the store; null where the figure is of all stores together';
comment on column report.restatements.run is 'Dimension: the number of the run, as in runs';
comment on column report.restatements.day is 'Dimension: the reporting day whose figure changed, or the first day of its period';
comment on column report.restatements.metric is 'Dimension: the report and its column, such as movements.suspended; churn.churned by month is of a longer period';
comment on column report.restatements.currency is 'Dimension: ISO 4217 code of an amount; null for counts and for what is converted';
comment on column report.restatements.before is 'Detail: the figure of the whole day before the run; null where it was unknown';
comment on column report.restatements.after is 'Detail: the figure after it; null where it is unknown';
comment on column report.restatements.entries is 'Detail: how many entries the run posted that belong to the day';
comment on column report.restatements.cause is
'Detail: setting where the run opened a new book, under which all totals are made anew; new rates where only what amounts '
'are converted with changed; else new facts';
comment on column report.restatements.is_complete is 'Detail: false for the running day';

grant select on report.restatements to tenure_reader, tenure_support, tenure_writer;
