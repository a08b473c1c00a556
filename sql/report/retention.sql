-- Of those who first paid in a week or a month, how many went on to pay a second time, a third, and so on?
create view report.retention as
with moved as (
    select
        course.app_id,
        course.environment,
        course.store,
        course.product_id,
        (course.paid_at at time zone latest.zone)::date as paid_on,
        course.paid_number,
        coalesce(course.refunded_number - 2, course.paid_number) as counts_until,
        course.state,
        course.next_due_at < latest.as_of as is_due,
        course.expires_at,
        latest.as_of - interval '1 microsecond' as last_moment,
        substring(length.period from '^P([0-9]+)')::integer as n,
        right(length.period, 1) as unit
    from ledger.course as course
    cross join measure.latest as latest
    left join reference.product as product
        on course.app_id = product.app_id and course.last_product_id = product.product_id
    cross join lateral (
        select coalesce(course.period, product.period, ledger.usual_length(course.days)) as period
    ) as length
),

-- Who was lost would have been due again after each further length.
counted as (
    select
        app_id,
        environment,
        store,
        product_id,
        paid_on,
        least(paid_number - 1, counts_until) as retained_until,
        paid_number,
        is_due and state = 'open' as is_open,
        case
            when not is_due then paid_number - 1
            when state = 'lost' and expires_at <= last_moment
                then
                    paid_number + case unit
                        when 'Y' then ledger.whole_months(expires_at, last_moment) / (12 * n)
                        when 'M' then ledger.whole_months(expires_at, last_moment) / n
                        when 'W' then floor(extract(epoch from last_moment - expires_at) / (n * 604800))::integer
                        else floor(extract(epoch from last_moment - expires_at) / (n * 86400))::integer
                    end
            else paid_number
        end as due_until
    from moved
),

alike as (
    select
        counted.app_id,
        counted.environment,
        counted.store,
        counted.product_id,
        kind.cohort_by,
        date_trunc(kind.cohort_by, counted.paid_on::timestamp)::date as cohort_on,
        counted.retained_until,
        counted.due_until,
        case when counted.is_open then counted.paid_number end as open_period,
        count(*) as chains
    from counted
    cross join (values ('week'), ('month')) as kind (cohort_by)
    group by
        counted.app_id,
        counted.environment,
        counted.store,
        counted.product_id,
        kind.cohort_by,
        date_trunc(kind.cohort_by, counted.paid_on::timestamp),
        counted.retained_until,
        counted.due_until,
        case when counted.is_open then counted.paid_number end
),

cohort as (
    select
        app_id,
        environment,
        store,
        product_id,
        cohort_by,
        cohort_on,
        sum(chains) as chains,
        max(due_until) as periods
    from alike
    group by app_id, environment, store, product_id, cohort_by, cohort_on
),

summed as (
    select
        cohort.app_id,
        cohort.environment,
        cohort.store,
        cohort.product_id,
        cohort.cohort_by,
        cohort.cohort_on,
        number.period,
        cohort.chains::bigint as cohort_size,
        coalesce(sum(alike.chains) filter (where alike.due_until >= number.period), 0)::bigint as due,
        coalesce(
            sum(alike.chains) filter (where alike.due_until >= number.period and alike.retained_until >= number.period),
            0
        )::bigint as retained,
        coalesce(bool_or(alike.open_period = number.period), false) as has_open
    from cohort
    cross join lateral generate_series(1, cohort.periods) as number (period)
    inner join alike using (app_id, environment, store, product_id, cohort_by, cohort_on)
    group by
        cohort.app_id,
        cohort.environment,
        cohort.store,
        cohort.product_id,
        cohort.cohort_by,
        cohort.cohort_on,
        cohort.chains,
        number.period
)

select
    app.app_key as app,
    summed.environment,
    summed.store,
    summed.cohort_on,
    summed.cohort_by,
    nullif(summed.product_id, '') as product_id,
    summed.period,
    summed.cohort_size,
    summed.due,
    summed.retained,
    trim_scale(round(summed.retained::numeric / nullif(summed.due, 0), 6)) as retention,
    summed.due = summed.cohort_size and not summed.has_open as is_complete
from summed
inner join ingest.app as app using (app_id);

comment on view report.retention is
'Retention, one row per app, store, product, week or month of the first paid start, and number of the renewal';
comment on column report.retention.app is 'Dimension: the app''s key';
comment on column report.retention.environment is 'Dimension: the store''s environment';
comment on column report.retention.store is 'Dimension: the store';
comment on column report.retention.cohort_on is
'Dimension: the first day of the week or month in which the chains first paid';
comment on column report.retention.cohort_by is 'Dimension: week (from Monday) or month';
comment on column report.retention.product_id is 'Dimension: the product first paid for; null where it is unknown';
comment on column report.retention.period is
'Dimension: the number of the renewal, by billing cycle: 1 is the first after the first paid period';
comment on column report.retention.cohort_size is 'Count: the chains that first paid in the week or month';
comment on column report.retention.due is
'Count: those whose renewal of this number was due; of a chain lost before, so many lengths after its last expiry';
comment on column report.retention.retained is
'Count: those that had paid for it, access never lost in between but to a recovered retry, and nothing refunded up to it';
comment on column report.retention.retention is 'Rate: retained / due';
comment on column report.retention.is_complete is
'Every: whether all are due, and none is in grace, in retry or waited for';

grant select on report.retention to tenure_reader, tenure_support, tenure_writer;
