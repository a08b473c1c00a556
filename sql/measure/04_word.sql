-- Brings every renewal status to the period it speaks about, and makes of those about one period the store's word.
create temp table status on commit drop as
with newest as (
    -- Of several statuses of one moment the best source's counts, then the one with the greater digest.
    select distinct on (renewal.subscription_key, renewal.signed_at)
        renewal.*,
        coalesce(renewal.in_billing_retry, false) or renewal.grace_expires_at is not null as is_failure
    from settling
    inner join fact.renewal as renewal
        on
            settling.subscription_key = renewal.subscription_key
            and renewal.signed_at < (select as_of from this_run)
            and renewal.signed_at >= coalesce(settling.base_at, '-infinity')
    order by renewal.subscription_key, renewal.signed_at, renewal.source_rank desc, renewal.digest desc
)

select
    newest.subscription_key,
    about.purchased_at,
    about.transaction_id,
    newest.signed_at,
    newest.stated,
    newest.auto_renew,
    newest.expiration_reason,
    newest.in_billing_retry,
    newest.grace_expires_at,
    newest.paused_at,
    newest.resumes_at,
    newest.is_failure,
    newest.expiration_reason is not null and not coalesce(newest.in_billing_retry, false) as is_expiry
from newest
cross join lateral (
    select
line.purchased_at,
line.transaction_id
    from line
    where
        line.subscription_key = newest.subscription_key
        and line.purchased_at <= newest.signed_at
        and line.class <> 'one_time'
        and line.expires_at > line.purchased_at
        and (not newest.is_failure or line.expires_at <= newest.signed_at + interval '24 hours')
    order by line.purchased_at desc, line.transaction_id desc
    limit 1
) as about
order by newest.subscription_key, about.purchased_at, about.transaction_id, newest.signed_at desc;

create temp table word on commit drop as
with spoken as (
    select
        *,
        max(signed_at) filter (where not is_expiry) over periods as other_said_at,
        not auto_renew and not lag(not auto_renew, 1, false) over switches
        or auto_renew and lag(not auto_renew, 1, false) over switches as is_switch
    from status
    window
        periods as (partition by subscription_key, transaction_id),
        -- What says nothing of auto-renew is no switch, nor does it hide one.
        switches as (partition by subscription_key, transaction_id, auto_renew is null order by signed_at)
)

select
    subscription_key,
    transaction_id,
    (array_agg(auto_renew) filter (where stated & (1 << 0) <> 0))[1] as auto_renew,
    (array_agg(expiration_reason) filter (where stated & (1 << 4) <> 0))[1] as expiration_reason,
    bool_or(is_failure) as is_failed,
    (array_agg(grace_expires_at) filter (where grace_expires_at is not null))[1] as grace_expires_at,
    -- The store says expired from the first of the newest statuses that all say so.
    min(signed_at) filter (
        where is_expiry and signed_at > coalesce(other_said_at, '-infinity')
    ) as expired_said_at,
    (array_agg(paused_at) filter (where stated & (1 << 7) <> 0))[1] as paused_at,
    (array_agg(resumes_at) filter (where stated & (1 << 8) <> 0))[1] as resumes_at,
    -- When auto-renew was switched off, on, off again: at the odd ones off.
    array_agg(signed_at order by signed_at) filter (where is_switch) as switched_at
from (
    select *
    from spoken
    order by subscription_key, purchased_at, transaction_id, signed_at desc
) as ordered
group by subscription_key, transaction_id;

analyze word;
