-- What did customers first seen in a week or a month bring within so many days of it?
create view report.lifetime_value as
with cohort as (
    select
        total.app_id,
        total.environment,
        date_trunc(kind.cohort_by, total.seen_on::timestamp)::date as cohort_on,
        (date_trunc(kind.cohort_by, total.seen_on::timestamp) + kind.length)::date as ends_before,
        kind.cohort_by,
        total.days,
        sum(total.subscribers) as subscribers,
        sum(total.payers) as payers,
        sum(total.converted) as converted,
        sum(total.unconverted) as unconverted
    from measure.cohort_value as total
    cross join (values ('week', interval '7 days'), ('month', interval '1 month')) as kind (cohort_by, length)
    group by
        total.app_id, total.environment, date_trunc(kind.cohort_by, total.seen_on::timestamp), kind.length,
        kind.cohort_by, total.days
),

within as (
    select
        cohort.app_id,
        cohort.environment,
        cohort.cohort_on,
        cohort.cohort_by,
        cohort.ends_before,
        windows.days,
        sum(cohort.subscribers)::bigint as subscribers,
        sum(cohort.payers)::bigint as payers,
        -- Where nothing has a rate, nothing is known.
        case when sum(cohort.converted) <> 0 or sum(cohort.unconverted) = 0 then sum(cohort.converted) end as converted,
        sum(cohort.unconverted)::bigint as unconverted
    from cohort
    inner join (values (0), (7), (14), (30), (60), (90), (180), (365)) as windows (days) on cohort.days <= windows.days
    group by
        cohort.app_id, cohort.environment, cohort.cohort_on, cohort.cohort_by, cohort.ends_before, windows.days
)

select
    app.app_key as app,
    within.environment,
    null::text as store,
    within.cohort_on,
    within.cohort_by,
    within.days,
    within.subscribers,
    within.payers,
    trim_scale(within.converted / 1000000) as net_converted,
    trim_scale(round(within.converted / nullif(within.subscribers, 0) / 1000000, 6)) as per_subscriber,
    trim_scale(round(within.converted / nullif(within.payers, 0) / 1000000, 6)) as per_payer,
    latest.currency as converted_to,
    within.unconverted as unconverted_charges,
    ((within.ends_before + within.days)::timestamp at time zone latest.zone) <= latest.as_of as is_complete
from within
inner join ingest.app as app using (app_id)
cross join measure.latest as latest;

comment on view report.lifetime_value is
'Lifetime value, one row per app, week or month of the first purchase, and length of the window after each customer''s first day';
comment on column report.lifetime_value.app is 'Dimension: the app''s key';
comment on column report.lifetime_value.environment is 'Dimension: the store''s environment';
comment on column report.lifetime_value.store is 'Dimension: null, all stores together';
comment on column report.lifetime_value.cohort_on is
'Dimension: the first day of the week or month in which the customers were first seen';
comment on column report.lifetime_value.cohort_by is 'Dimension: week (from Monday) or month';
comment on column report.lifetime_value.days is
'Dimension: 0, 7, 14, 30, 60, 90, 180 or 365: so many days after each customer''s first one, which counts too';
comment on column report.lifetime_value.subscribers is 'Count: the customers first seen in the week or month';
comment on column report.lifetime_value.payers is 'Count: those of them who were charged in the window';
comment on column report.lifetime_value.net_converted is
'Flow: their charges less refunds in the window, in the reporting currency at the rates of the purchase days; null where '
'nothing of it has a rate';
comment on column report.lifetime_value.per_subscriber is 'Rate: net_converted / subscribers';
comment on column report.lifetime_value.per_payer is 'Rate: net_converted / payers';
comment on column report.lifetime_value.converted_to is 'Detail: the reporting currency';
comment on column report.lifetime_value.unconverted_charges is
'Flow: charges of known price without a rate, which net_converted leaves out';
comment on column report.lifetime_value.is_complete is
'Detail: whether the window of the last customer of the week or month is over';

grant select on report.lifetime_value to tenure_reader, tenure_support, tenure_writer;
