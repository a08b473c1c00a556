-- MRR at the end of every day since a row's first: the last stored month's closing and the days since. The sums are lateral
-- so that a filter on the day reaches the index.
drop view if exists measure.daily_mrr_closing cascade;
create view measure.daily_mrr_closing as
select
    combination.app_id,
    combination.environment,
    combination.store,
    combination.product_id,
    combination.country,
    combination.currency,
    days.day::date as day,
    ((days.day::date + 1)::timestamp at time zone latest.zone) <= latest.as_of as is_complete,
    coalesce(closing.mrr, 0) + coalesce(since.mrr, 0) as mrr,
    coalesce(closing.unpriced, 0) + coalesce(since.unpriced, 0) as unpriced,
    coalesce(closing.converted, 0) + coalesce(since.converted, 0) as converted,
    coalesce(closing.unconverted, 0) + coalesce(since.unconverted, 0) as unconverted
from (
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        currency,
        min(day) as first_day
    from measure.daily_mrr
    group by app_id, environment, store, product_id, country, currency
) as combination
cross join measure.latest as latest
cross join lateral generate_series(combination.first_day, latest.day, interval '1 day') as days (day)
left join lateral (
    select stored.*
    from measure.monthly_mrr as stored
    where
        stored.app_id = combination.app_id
        and stored.environment = combination.environment
        and stored.store = combination.store
        and stored.product_id = combination.product_id
        and stored.country = combination.country
        and stored.currency = combination.currency
        and stored.month < date_trunc('month', days.day)::date
    order by stored.month desc
    limit 1
) as closing on true
left join lateral (
    select
        sum(total.mrr) as mrr,
        sum(total.unpriced) as unpriced,
        sum(total.converted) as converted,
        sum(total.unconverted) as unconverted
    from measure.daily_mrr as total
    where
        total.app_id = combination.app_id
        and total.environment = combination.environment
        and total.store = combination.store
        and total.product_id = combination.product_id
        and total.country = combination.country
        and total.currency = combination.currency
        and total.day between date_trunc('month', days.day)::date and days.day::date
) as since on true;
comment on view measure.daily_mrr_closing is
'MRR in micros at the end of every day, one row per day, product, country and currency';
grant select on measure.daily_mrr_closing to tenure_writer;
