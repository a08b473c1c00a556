-- How far each settled line has come in its first service. Where the window ends within it, its end is as it was.
create temp table course_after on commit drop as
with settled_line as (
    select
        settling.line_key,
        min(settling.subscription_key) as subscription_key,
        bool_and(settling.stop_at is null) as reaches_end,
        bool_and(settling.base_at is null) as is_whole
    from settling
    group by settling.line_key
),

own as (
    select
        period.*,
        line.period as length,
        period.is_first_service and not period.is_free as is_paid
    from pg_temp.period
    inner join line using (subscription_key, transaction_id)
    where period.class = 'own'
),

first_paid as (
    select distinct on (line_key)
        line_key,
        coalesce(product_id, '') as product_id,
        purchased_at as paid_at
    from own
    where is_paid and paid_number = 1
    order by line_key, purchased_at, transaction_id
),

last_paid as (
    select distinct on (line_key)
        line_key,
        paid_number,
        case when fate = 'withdrawn' then expires_at else least(expires_at, next_at) end as next_due_at,
        coalesce(product_id, '') as product_id,
        length,
        (extract(epoch from expires_at - purchased_at) / 86400)::numeric as days
    from own
    where is_paid
    order by line_key asc, purchased_at desc, transaction_id desc
),

last_of_service as (
    select distinct on (line_key)
        line_key,
        expires_at,
        refunded_number,
        case
            when fate in ('withdrawn', 'ended') or fate = 'failed' and not is_suspended then 'lost'
            when fate in ('in_grace', 'awaited') or is_suspended and next_at is null then 'open'
            else 'running'
        end as state
    from own
    where is_first_service
    order by line_key asc, purchased_at desc, transaction_id desc
),

ended as (
    select line_key
    from own
    where paid_number > 0 and not is_first_service
    group by line_key
)

select
    settled_line.line_key,
    settled_line.is_whole,
    chain.app_id,
    chain.environment,
    chain.store,
    coalesce(first_paid.product_id, stored.product_id) as product_id,
    coalesce(first_paid.paid_at, stored.paid_at) as paid_at,
    coalesce(newest.paid_number, stored.paid_number) as paid_number,
    case when newest.line_key is not null then newest.refunded_number else stored.refunded_number end
    as refunded_number,
    coalesce(newest.next_due_at, stored.next_due_at) as next_due_at,
    coalesce(newest.expires_at, stored.expires_at) as expires_at,
    coalesce(newest.product_id, stored.last_product_id) as last_product_id,
    case when newest.line_key is not null then newest.length else stored.period end as period,
    coalesce(newest.days, stored.days) as days,
    coalesce(newest.state, stored.state) as state
from settled_line
inner join fact.chain as chain using (subscription_key)
left join first_paid using (line_key)
-- Of a line that was settled from its beginning to its end nothing is as it was.
left join (
    select course.*
    from ledger.course as course
    inner join settled_line using (line_key)
    where not (settled_line.is_whole and settled_line.reaches_end)
) as stored using (line_key)
left join (
    select
        last_paid.*,
        last_of_service.expires_at,
        last_of_service.refunded_number,
        last_of_service.state
    from last_paid
    inner join last_of_service using (line_key)
    inner join settled_line using (line_key)
    left join ended using (line_key)
    where settled_line.reaches_end or ended.line_key is not null
) as newest using (line_key);

-- Also of lines that have become part of others.
delete from ledger.course
using settling
where course.line_key in (settling.line_key, settling.line_key_before);

insert into ledger.course
select
    line_key,
    app_id,
    environment,
    store,
    product_id,
    paid_at,
    paid_number,
    refunded_number,
    next_due_at,
    expires_at,
    last_product_id,
    period,
    days,
    state
from course_after
where paid_number is not null and paid_at is not null
order by line_key;
