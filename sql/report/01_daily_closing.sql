-- Stocks at the end of every day since a row's first change. Each change holds until the next, so that a day costs no more than
-- its row.
drop view if exists measure.daily_closing cascade;
create view measure.daily_closing as
with change as (
    select
        total.app_id,
        total.environment,
        total.store,
        total.product_id,
        total.country,
        total.offer,
        total.day,
        total.new,
        total.trial_converted,
        total.reactivated,
        total.won_back,
        total.recovered,
        total.refund_reversed,
        total.resumed,
        total.moved_in,
        total.churned_voluntary,
        total.churned_billing,
        total.churned_price_increase,
        total.churned_product_unavailable,
        total.churned_refunded,
        total.churned_other,
        total.churned_unconfirmed,
        total.suspended,
        total.pauses,
        total.moved_out,
        total.renewed,
        total.upgraded,
        total.downgraded,
        total.crossgraded,
        total.active,
        total.trial,
        total.grace,
        total.retry,
        total.set_to_cancel,
        total.paused,
        total.family
    from measure.daily_movement as total
    where total.day >= coalesce((select asked.month from measure.asked), '-infinity')
    union all
    (
        select distinct on (
                stored.app_id, stored.environment, stored.store, stored.product_id, stored.country, stored.offer
            )
            stored.app_id,
            stored.environment,
            stored.store,
            stored.product_id,
            stored.country,
            stored.offer,
            asked.month - 1,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            stored.active,
            stored.trial,
            stored.grace,
            stored.retry,
            stored.set_to_cancel,
            stored.paused,
            stored.family
        from measure.monthly_closing as stored
        cross join measure.asked as asked
        where stored.month < asked.month
        order by
            stored.app_id, stored.environment, stored.store, stored.product_id, stored.country, stored.offer,
            stored.month desc
    )
),

standing as (
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        offer,
        day,
        new,
        trial_converted,
        reactivated,
        won_back,
        recovered,
        refund_reversed,
        resumed,
        moved_in,
        churned_voluntary,
        churned_billing,
        churned_price_increase,
        churned_product_unavailable,
        churned_refunded,
        churned_other,
        churned_unconfirmed,
        suspended,
        pauses,
        moved_out,
        renewed,
        upgraded,
        downgraded,
        crossgraded,
        active as net,
        lead(day) over changes as next_day,
        sum(active) over changes as active,
        sum(trial) over changes as trial,
        sum(grace) over changes as grace,
        sum(retry) over changes as retry,
        sum(set_to_cancel) over changes as set_to_cancel,
        sum(paused) over changes as paused,
        sum(family) over changes as family
    from change
    window changes as (partition by app_id, environment, store, product_id, country, offer order by day)
)

select
    standing.app_id,
    standing.environment,
    standing.store,
    standing.product_id,
    standing.country,
    standing.offer,
    standing.day + days.nth as day,
    standing.day + days.nth < latest.day or ((latest.day + 1)::timestamp at time zone latest.zone) <= latest.as_of
    as is_complete,
    case when days.nth = 0 then standing.new else 0 end as new,
    case when days.nth = 0 then standing.trial_converted else 0 end as trial_converted,
    case when days.nth = 0 then standing.reactivated else 0 end as reactivated,
    case when days.nth = 0 then standing.won_back else 0 end as won_back,
    case when days.nth = 0 then standing.recovered else 0 end as recovered,
    case when days.nth = 0 then standing.refund_reversed else 0 end as refund_reversed,
    case when days.nth = 0 then standing.resumed else 0 end as resumed,
    case when days.nth = 0 then standing.moved_in else 0 end as moved_in,
    case when days.nth = 0 then standing.churned_voluntary else 0 end as churned_voluntary,
    case when days.nth = 0 then standing.churned_billing else 0 end as churned_billing,
    case when days.nth = 0 then standing.churned_price_increase else 0 end as churned_price_increase,
    case when days.nth = 0 then standing.churned_product_unavailable else 0 end as churned_product_unavailable,
    case when days.nth = 0 then standing.churned_refunded else 0 end as churned_refunded,
    case when days.nth = 0 then standing.churned_other else 0 end as churned_other,
    case when days.nth = 0 then standing.churned_unconfirmed else 0 end as churned_unconfirmed,
    case when days.nth = 0 then standing.suspended else 0 end as suspended,
    case when days.nth = 0 then standing.pauses else 0 end as pauses,
    case when days.nth = 0 then standing.moved_out else 0 end as moved_out,
    case when days.nth = 0 then standing.renewed else 0 end as renewed,
    case when days.nth = 0 then standing.upgraded else 0 end as upgraded,
    case when days.nth = 0 then standing.downgraded else 0 end as downgraded,
    case when days.nth = 0 then standing.crossgraded else 0 end as crossgraded,
    case when days.nth = 0 then standing.net else 0 end as net,
    standing.active,
    standing.trial,
    standing.grace,
    standing.retry,
    standing.set_to_cancel,
    standing.paused,
    standing.family
from standing
cross join measure.latest as latest
cross join lateral generate_series(0, coalesce(standing.next_day, latest.day + 1) - standing.day - 1) as days (nth);
comment on view measure.daily_closing is
'Stocks at the end of every day, one row per day, product, country and offer; what moved on the day itself is beside them';
grant select on measure.daily_closing to tenure_writer;
