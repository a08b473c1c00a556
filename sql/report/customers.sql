-- How many customers are new, how many of them try and pay within so many days, and what does a paying one bring?
create view report.customers as
with daily as (
    select
        first_day.app_id,
        first_day.environment,
        days.day::date as day
    from (
        select
            app_id,
            environment,
            min(day) as day
        from measure.daily_customer
        group by app_id, environment
    ) as first_day
    cross join measure.latest as latest
    cross join lateral generate_series(first_day.day, latest.day, interval '1 day') as days (day)
),

earned as (
    select
        app_id,
        environment,
        day,
        -- Where nothing has a rate, nothing is known.
        case when sum(converted) <> 0 or sum(unconverted) = 0 then sum(converted) end as converted
    from measure.daily_revenue
    group by app_id, environment, day
),

counted as (
    select
        daily.app_id,
        daily.environment,
        daily.day,
        coalesce(total.new_customers, 0) as new_customers,
        coalesce(total.new_paying, 0) as new_paying,
        sum(total.new_paying) over (partition by daily.app_id, daily.environment order by daily.day) as paying_total,
        nullif(total.new_customers, 0)::numeric as all_of_them,
        total.started_trial_7d,
        total.started_trial_14d,
        total.started_trial_30d,
        total.paid_7d,
        total.paid_14d,
        total.paid_30d,
        nullif(total.payers, 0) as payers
    from daily
    left join measure.daily_customer as total using (app_id, environment, day)
)

select
    app.app_key as app,
    counted.environment,
    null::text as store,
    counted.day,
    counted.new_customers,
    counted.new_paying,
    coalesce(counted.paying_total, 0)::bigint as paying_total,
    trim_scale(round(counted.started_trial_7d / counted.all_of_them, 6)) as started_trial_7d,
    trim_scale(round(counted.started_trial_14d / counted.all_of_them, 6)) as started_trial_14d,
    trim_scale(round(counted.started_trial_30d / counted.all_of_them, 6)) as started_trial_30d,
    trim_scale(round(counted.paid_7d / counted.all_of_them, 6)) as paid_7d,
    trim_scale(round(counted.paid_14d / counted.all_of_them, 6)) as paid_14d,
    trim_scale(round(counted.paid_30d / counted.all_of_them, 6)) as paid_30d,
    trim_scale(round(earned.converted / counted.payers / 1000000, 6)) as arppu,
    latest.currency as converted_to,
    ((counted.day + 31)::timestamp at time zone latest.zone) <= latest.as_of as is_complete
from counted
inner join ingest.app as app using (app_id)
left join earned using (app_id, environment, day)
cross join measure.latest as latest;

comment on view report.customers is
'Customers, one row per app and day, over all stores: who is first seen on the day, and what those do within so many days';
comment on column report.customers.app is 'Dimension: the app''s key';
comment on column report.customers.environment is 'Dimension: the store''s environment';
comment on column report.customers.store is 'Dimension: null, all stores together';
comment on column report.customers.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.customers.new_customers is
'Flow: subscribers whose earliest purchase is on this day, free ones and one-time ones included, family-shared ones not';
comment on column report.customers.new_paying is 'Flow: subscribers whose first charge ever is on this day';
comment on column report.customers.paying_total is 'Stock: subscribers who were ever charged';
comment on column report.customers.started_trial_7d is
'Rate: of new_customers, those who began a trial on this day or in the 7 after it';
comment on column report.customers.started_trial_14d is 'Rate: the same within 14 days';
comment on column report.customers.started_trial_30d is 'Rate: the same within 30 days';
comment on column report.customers.paid_7d is
'Rate: of new_customers, those who were first charged on this day or in the 7 after it';
comment on column report.customers.paid_14d is 'Rate: the same within 14 days';
comment on column report.customers.paid_30d is 'Rate: the same within 30 days';
comment on column report.customers.arppu is
'Rate: converted charges less refunds of this day / distinct subscribers charged on it; what has no rate is left out';
comment on column report.customers.converted_to is 'Detail: the reporting currency';
comment on column report.customers.is_complete is 'Every: whether the 30 days after this one are over';

grant select on report.customers to tenure_reader, tenure_support, tenure_writer;
