-- MRR at the end of every day since a row's first change. Each change holds until the next.
drop view if exists measure.daily_mrr_closing cascade;
create view measure.daily_mrr_closing as
with change as (
    select
        total.app_id,
        total.environment,
        total.store,
        total.product_id,
        total.country,
        total.currency,
        total.day,
        total.new,
        total.reactivation,
        total.expansion,
        total.contraction,
        total.churn,
        total.suspension,
        total.recovery,
        total.moved_in,
        total.moved_out,
        total.mrr,
        total.unpriced,
        total.converted,
        total.unconverted
    from measure.daily_mrr as total
    where total.day >= coalesce((select asked.day from measure.asked), '-infinity')
    union all
    select
        total.app_id,
        total.environment,
        total.store,
        total.product_id,
        total.country,
        total.currency,
        asked.day - 1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        sum(total.mrr),
        sum(total.unpriced),
        sum(total.converted),
        sum(total.unconverted)
    from measure.daily_mrr as total
    inner join measure.asked as asked on total.day < asked.day
    group by
        total.app_id, total.environment, total.store, total.product_id, total.country, total.currency, asked.day
),

standing as (
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        currency,
        day,
        new,
        reactivation,
        expansion,
        contraction,
        churn,
        suspension,
        recovery,
        moved_in,
        moved_out,
        lead(day) over changes as next_day,
        sum(mrr) over changes as mrr,
        sum(unpriced) over changes as unpriced,
        sum(converted) over changes as converted,
        sum(unconverted) over changes as unconverted
    from change
    window changes as (partition by app_id, environment, store, product_id, country, currency order by day)
)

select
    standing.app_id,
    standing.environment,
    standing.store,
    standing.product_id,
    standing.country,
    standing.currency,
    standing.day + days.nth as day,
    standing.day + days.nth < latest.day or ((latest.day + 1)::timestamp at time zone latest.zone) <= latest.as_of
    as is_complete,
    case when days.nth = 0 then standing.new else 0 end as new,
    case when days.nth = 0 then standing.reactivation else 0 end as reactivation,
    case when days.nth = 0 then standing.expansion else 0 end as expansion,
    case when days.nth = 0 then standing.contraction else 0 end as contraction,
    case when days.nth = 0 then standing.churn else 0 end as churn,
    case when days.nth = 0 then standing.suspension else 0 end as suspension,
    case when days.nth = 0 then standing.recovery else 0 end as recovery,
    case when days.nth = 0 then standing.moved_in else 0 end as moved_in,
    case when days.nth = 0 then standing.moved_out else 0 end as moved_out,
    standing.mrr,
    standing.unpriced,
    standing.converted,
    standing.unconverted
from standing
cross join measure.latest as latest
cross join lateral generate_series(0, coalesce(standing.next_day, latest.day + 1) - standing.day - 1) as days (nth);
comment on view measure.daily_mrr_closing is
'MRR in micros at the end of every day, one row per day, product, country and currency; what moved on the day itself is beside them';
grant select on measure.daily_mrr_closing to tenure_writer;
