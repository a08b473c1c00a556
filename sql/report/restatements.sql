-- What did each run change of days that an earlier run had already told whole, and why? Stocks follow from the movements: what is
-- listed are changes of the day's flows. Revenue and MRR stand in units of their currency.
create view report.restatements as
with change as (
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store,
        null::text as currency,
        change.day,
        figure.metric,
        sum(figure.amount) as amount
    from measure.daily_movement_change as change
    cross join lateral (
        values
            ('movements.new', change.new),
            ('movements.trial_converted', change.trial_converted),
            ('movements.reactivated', change.reactivated),
            ('movements.won_back', change.won_back),
            ('movements.recovered', change.recovered),
            ('movements.refund_reversed', change.refund_reversed),
            ('movements.resumed', change.resumed),
            ('movements.moved_in', change.moved_in),
            ('movements.churned_voluntary', change.churned_voluntary),
            ('movements.churned_billing', change.churned_billing),
            ('movements.churned_price_increase', change.churned_price_increase),
            ('movements.churned_product_unavailable', change.churned_product_unavailable),
            ('movements.churned_refunded', change.churned_refunded),
            ('movements.churned_other', change.churned_other),
            ('movements.churned_unconfirmed', change.churned_unconfirmed),
            ('movements.suspended', change.suspended),
            ('movements.paused', change.pauses),
            ('movements.moved_out', change.moved_out),
            ('movements.renewed', change.renewed),
            ('movements.upgraded', change.upgraded),
            ('movements.downgraded', change.downgraded),
            ('movements.crossgraded', change.crossgraded)
    ) as figure (metric, amount)
    group by change.run_id, change.app_id, change.environment, change.store, change.day, figure.metric
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        null,
        null,
        change.day,
        figure.metric,
        sum(figure.amount)
    from measure.daily_subscriber_change as change
    cross join lateral (
        values
            ('active_subscribers.active_subscribers', change.active)
    ) as figure (metric, amount)
    group by change.run_id, change.app_id, change.environment, change.day, figure.metric
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store,
        nullif(change.currency, ''),
        change.day,
        figure.metric,
        sum(figure.amount)
    from measure.daily_revenue_change as change
    cross join lateral (
        values
            ('revenue.charges', change.charges),
            ('revenue.gross', change.gross / 1000000.0),
            ('revenue.refunds', change.refunds / 1000000.0),
            ('revenue.refunds_by_purchase_day', change.refunds_by_purchase_day / 1000000.0)
    ) as figure (metric, amount)
    group by change.run_id, change.app_id, change.environment, change.store, change.currency, change.day, figure.metric
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store,
        null,
        change.day,
        'revenue.net_converted',
        sum(change.converted / 1000000.0)
    from measure.daily_revenue_change as change
    group by change.run_id, change.app_id, change.environment, change.store, change.day
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store,
        nullif(change.currency, ''),
        change.day,
        figure.metric,
        sum(figure.amount)
    from measure.daily_mrr_change as change
    cross join lateral (
        values
            ('mrr_movement.new', change.new / 1000000.0),
            ('mrr_movement.reactivation', change.reactivation / 1000000.0),
            ('mrr_movement.expansion', change.expansion / 1000000.0),
            ('mrr_movement.contraction', change.contraction / 1000000.0),
            ('mrr_movement.churn', change.churn / 1000000.0),
            ('mrr_movement.suspension', change.suspension / 1000000.0),
            ('mrr_movement.recovery', change.recovery / 1000000.0),
            ('mrr_movement.moved_in', change.moved_in / 1000000.0),
            ('mrr_movement.moved_out', change.moved_out / 1000000.0)
    ) as figure (metric, amount)
    group by change.run_id, change.app_id, change.environment, change.store, change.currency, change.day, figure.metric
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store,
        null,
        change.day,
        figure.metric,
        sum(figure.amount)
    from measure.daily_trial_change as change
    cross join lateral (
        values
            ('trials.started', change.started),
            ('trials.converted', change.converted),
            ('trials.expired', change.expired),
            ('trials.cancelled', change.cancelled),
            ('trials.running', change.running),
            ('trials.in_retry', change.in_retry)
    ) as figure (metric, amount)
    group by change.run_id, change.app_id, change.environment, change.store, change.day, figure.metric
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store,
        null,
        change.day,
        figure.metric,
        sum(figure.amount)
    from measure.daily_renewal_change as change
    cross join lateral (
        values
            ('renewal_rate.due', change.due),
            ('renewal_rate.renewed', change.renewed),
            ('renewal_rate.recovered_in_grace', change.recovered_in_grace),
            ('renewal_rate.recovered_in_retry', change.recovered_in_retry),
            ('renewal_rate.changed_product', change.changed_product),
            ('renewal_rate.lost', change.lost),
            ('renewal_rate.open', change.open)
    ) as figure (metric, amount)
    group by change.run_id, change.app_id, change.environment, change.store, change.day, figure.metric
    union all
    select
        change.run_id,
        change.app_id,
        change.environment,
        change.store,
        null,
        change.day,
        figure.metric,
        sum(figure.amount)
    from measure.daily_failure_change as change
    cross join lateral (
        values
            ('billing_recovery.entered_grace', change.entered_grace),
            ('billing_recovery.entered_retry', change.entered_retry),
            ('billing_recovery.recovered_in_grace', change.recovered_in_grace),
            ('billing_recovery.recovered_in_retry', change.recovered_in_retry),
            ('billing_recovery.lost', change.lost),
            ('billing_recovery.open', change.open)
    ) as figure (metric, amount)
    group by change.run_id, change.app_id, change.environment, change.store, change.day, figure.metric
),

counted as (
    select
        change.*,
        coalesce(
            sum(change.amount) over (
                partition by
                    change.app_id, change.environment, change.store, change.currency, change.day, change.metric
                order by change.run_id
                rows between unbounded preceding and 1 preceding
            ), 0
        ) as before
    from change
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
    counted.environment,
    counted.store,
    counted.run_id as run,
    counted.day,
    counted.metric,
    counted.currency,
    trim_scale(counted.before) as before,
    trim_scale(counted.before + counted.amount) as after,
    coalesce(posted.entries, 0) as entries,
    case
        when told.is_new_book then 'setting'
        when counted.metric = 'revenue.net_converted' and posted.entries is null then 'new rates'
        else 'new facts'
    end as cause,
    ((counted.day + 1)::timestamp at time zone latest.zone) <= latest.as_of as is_complete
from counted
inner join told using (run_id)
inner join ingest.app as app using (app_id)
cross join measure.latest as latest
left join lateral (
    select sum(posted_day.entries)::bigint as entries
    from measure.posted_day
    where
        posted_day.run_id = counted.run_id
        and posted_day.app_id = counted.app_id
        and posted_day.environment = counted.environment
        and posted_day.day = counted.day
        and (counted.store is null or posted_day.store = counted.store)
) as posted on true
where
    counted.amount <> 0
    and (counted.day + 1)::timestamp at time zone told.zone_before <= told.as_of_before;

comment on view report.restatements is
'What runs changed of days that had been told whole before, one row per run, day and figure, with the cause';
comment on column report.restatements.app is 'Dimension: the app''s key';
comment on column report.restatements.environment is 'Dimension: the store''s environment';
comment on column report.restatements.store is 'Dimension: the store; null where the figure is of all stores together';
comment on column report.restatements.run is 'Dimension: the number of the run, as in runs';
comment on column report.restatements.day is 'Dimension: the reporting day whose figure changed';
comment on column report.restatements.metric is 'Dimension: the report and its column, such as movements.suspended';
comment on column report.restatements.currency is 'Dimension: ISO 4217 code of an amount; null for counts and for what is converted';
comment on column report.restatements.before is 'Detail: the figure of the whole day before the run';
comment on column report.restatements.after is 'Detail: the figure after it';
comment on column report.restatements.entries is 'Detail: how many entries the run posted that belong to the day';
comment on column report.restatements.cause is
'Detail: setting where the run opened a new book, under which all totals are made anew; new rates where only what amounts '
'are converted with changed; else new facts';
comment on column report.restatements.is_complete is 'Detail: false for the running day';

grant select on report.restatements to tenure_reader, tenure_support, tenure_writer;
