-- Stocks at the end of every day since a row's first: the last stored month's closing and the days since. The sums are
-- lateral so that a filter on the day reaches the index.
drop view if exists measure.daily_closing cascade;
create view measure.daily_closing as
select
    combination.app_id,
    combination.environment,
    combination.store,
    combination.product_id,
    combination.country,
    combination.offer,
    days.day::date as day,
    ((days.day::date + 1)::timestamp at time zone latest.zone) <= latest.as_of as is_complete,
    coalesce(closing.active, 0) + coalesce(since.active, 0) as active,
    coalesce(closing.trial, 0) + coalesce(since.trial, 0) as trial,
    coalesce(closing.grace, 0) + coalesce(since.grace, 0) as grace,
    coalesce(closing.retry, 0) + coalesce(since.retry, 0) as retry,
    coalesce(closing.set_to_cancel, 0) + coalesce(since.set_to_cancel, 0) as set_to_cancel,
    coalesce(closing.paused, 0) + coalesce(since.paused, 0) as paused,
    coalesce(closing.family, 0) + coalesce(since.family, 0) as family
from (
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        offer,
        min(day) as first_day
    from measure.daily_movement
    group by app_id, environment, store, product_id, country, offer
) as combination
cross join measure.latest as latest
cross join lateral generate_series(combination.first_day, latest.day, interval '1 day') as days (day)
left join lateral (
    select stored.*
    from measure.monthly_closing as stored
    where
        stored.app_id = combination.app_id
        and stored.environment = combination.environment
        and stored.store = combination.store
        and stored.product_id = combination.product_id
        and stored.country = combination.country
        and stored.offer = combination.offer
        and stored.month < date_trunc('month', days.day)::date
    order by stored.month desc
    limit 1
) as closing on true
left join lateral (
    select
        sum(total.active) as active,
        sum(total.trial) as trial,
        sum(total.grace) as grace,
        sum(total.retry) as retry,
        sum(total.set_to_cancel) as set_to_cancel,
        sum(total.paused) as paused,
        sum(total.family) as family
    from measure.daily_movement as total
    where
        total.app_id = combination.app_id
        and total.environment = combination.environment
        and total.store = combination.store
        and total.product_id = combination.product_id
        and total.country = combination.country
        and total.offer = combination.offer
        and total.day between date_trunc('month', days.day)::date and days.day::date
) as since on true;
comment on view measure.daily_closing is 'Stocks at the end of every day, one row per day, product, country and offer';
grant select on measure.daily_closing to tenure_writer;
