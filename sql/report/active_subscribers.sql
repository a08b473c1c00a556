-- How many distinct people are subscribed? A person with two subscriptions counts once, so these rows cannot be added.
create view report.active_subscribers as
with changed as (
    select
        app_id,
        environment,
        day,
        active as subscribers,
        0 as subscriptions
    from measure.daily_subscriber
    union all
    select
        app_id,
        environment,
        day,
        0,
        sum(active)
    from measure.daily_movement
    group by app_id, environment, day
),

every_day as (
    select
        first_day.app_id,
        first_day.environment,
        days.day::date as day,
        ((days.day::date + 1)::timestamp at time zone latest.zone) <= latest.as_of as is_complete
    from (
        select
            app_id,
            environment,
            min(day) as day
        from changed
        group by app_id, environment
    ) as first_day
    cross join measure.latest as latest
    cross join lateral generate_series(first_day.day, latest.day, interval '1 day') as days (day)
),

summed as (
    select
        every_day.app_id,
        every_day.environment,
        every_day.day,
        every_day.is_complete,
        sum(coalesce(sum(changed.subscribers), 0)) over days as active_subscribers,
        sum(coalesce(sum(changed.subscriptions), 0)) over days as active_subscriptions
    from every_day
    left join changed using (app_id, environment, day)
    group by every_day.app_id, every_day.environment, every_day.day, every_day.is_complete
    window days as (partition by every_day.app_id, every_day.environment order by every_day.day)
)

select
    app.app_key as app,
    summed.environment,
    null::text as store,
    summed.day,
    summed.active_subscribers::bigint as active_subscribers,
    summed.active_subscriptions::bigint as active_subscriptions,
    summed.is_complete
from summed
inner join ingest.app as app using (app_id);

comment on view report.active_subscribers is
'Distinct subscribers with an active chain at the end of each day, one row per day and app, over all stores';
comment on column report.active_subscribers.app is 'Dimension: the app''s key';
comment on column report.active_subscribers.environment is 'Dimension: the store''s environment';
comment on column report.active_subscribers.store is 'Dimension: null, all stores together';
comment on column report.active_subscribers.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.active_subscribers.active_subscribers is
'Distinct: subscribers with at least one active chain at the end of the day; not to be added over days or apps';
comment on column report.active_subscribers.active_subscriptions is 'Stock: their active chains';
comment on column report.active_subscribers.is_complete is 'Detail: false for the running day';

grant select on report.active_subscribers to tenure_reader, tenure_support, tenure_writer;
