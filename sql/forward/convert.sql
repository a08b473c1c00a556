-- Amounts in the reporting currency $4: the amounts $1 (micros) in the currencies $2, each at the last rate published up to
-- the day, in the time zone $5, of its purchase $3. One row for each, in their order; null where there is no rate.
select reference.converted(wanted.amount, theirs.per_euro, ours.per_euro) as converted
from (
    select
        amount.amount,
        amount.currency,
        (amount.purchased_at at time zone $5::text)::date as day,
        amount.nth
    from unnest($1::bigint[], $2::text[], $3::timestamptz[])
    with ordinality as amount (amount, currency, purchased_at, nth)
) as wanted
left join lateral (
    select 1 as per_euro
    where wanted.currency in ('EUR', $4::text)
    union all
    (
        select rate.per_euro
        from reference.rate as rate
        where wanted.currency not in ('EUR', $4::text) and rate.currency = wanted.currency and rate.day <= wanted.day
        order by rate.day desc
        limit 1
    )
) as theirs on true
left join lateral (
    select 1 as per_euro
    where $4::text in ('EUR', wanted.currency)
    union all
    (
        select rate.per_euro
        from reference.rate as rate
        where $4::text not in ('EUR', wanted.currency) and rate.currency = $4::text and rate.day <= wanted.day
        order by rate.day desc
        limit 1
    )
) as ours on true
order by wanted.nth
