-- A second time where the window of the first was too narrow.
drop table if exists pg_temp.line, pg_temp.status, pg_temp.word, pg_temp.period, pg_temp.bare_charge;

-- The transactions of those windows: what changed as it is now, the others as they are stored.
create temp table line on commit drop as
with unchanged as (
    select
        stored.*,
        settling.line_key,
        coalesce(
            stored.purchased_at = settling.base_at and stored.transaction_id = settling.base_transaction_id, false
        ) as is_base,
        coalesce(
            stored.purchased_at = settling.beyond_at and stored.transaction_id = settling.beyond_transaction_id, false
        ) as is_beyond
    from settling
    inner join ledger.period as stored
        on
            settling.subscription_key = stored.subscription_key
            and (
                settling.base_at is null
                or (stored.purchased_at, stored.transaction_id) >= (settling.base_at, settling.base_transaction_id)
            )
            and (
                settling.beyond_at is null
                or (stored.purchased_at, stored.transaction_id) <= (settling.beyond_at, settling.beyond_transaction_id)
            )
    left join effective
        on
            stored.subscription_key = effective.subscription_key
            and stored.transaction_id = effective.transaction_id
    where effective.transaction_id is null
)

select
    line_key,
    subscription_key,
    purchased_at,
    transaction_id,
    type,
    product_id,
    group_id,
    period,
    expires_at,
    price,
    currency,
    country,
    reason,
    offer,
    offer_id,
    offer_discount,
    offer_period,
    tax,
    commission,
    proceeds,
    revoked_at,
    restored_at,
    refund,
    revocation,
    class,
    is_free,
    is_beyond,
    is_base,
    is_base and is_trial as base_is_trial,
    case when is_base then charge end as base_charge,
    case when is_base then opening end as base_opening,
    case when is_base then paid_number end as base_paid_number,
    case when is_base then first_paid_at end as base_first_paid_at,
    case when is_base then trial_started_at end as base_trial_started_at,
    case when is_base then stretch_started_at end as base_stretch_started_at,
    case when is_base then months_before end as base_months_before,
    case when is_base then rest_before end as base_rest_before,
    case when is_base then served end as base_served,
    case when is_base then served_until end as base_served_until,
    is_base and paid_number > 0 and not is_first_service as base_is_past_first_service,
    case when is_base then refunded_number end as base_refunded_number
from unchanged
union all
select
    line_key,
    subscription_key,
    purchased_at,
    transaction_id,
    type,
    product_id,
    group_id,
    period,
    expires_at,
    price,
    currency,
    country,
    reason,
    offer,
    offer_id,
    offer_discount,
    offer_period,
    tax,
    commission,
    proceeds,
    revoked_at,
    restored_at,
    refund,
    revocation,
    class,
    is_free,
    false,
    false,
    false,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    false,
    null
from effective
inner join settling using (subscription_key)
where purchased_at < (select as_of from this_run)
order by line_key, purchased_at, transaction_id;

create index on line (subscription_key, purchased_at, transaction_id);
analyze line (subscription_key, transaction_id, class);

-- Brings every renewal status to the period it speaks about, and makes of those about one period the store's word. Once a
-- better source has spoken of a period, what a lesser one says of it later is not heard.
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
            and renewal.signed_at < coalesce(settling.beyond_until, 'infinity')
    order by renewal.subscription_key, renewal.signed_at, renewal.source_rank desc, renewal.digest desc
),

spoken as (
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
        newest.expiration_reason is not null and not coalesce(newest.in_billing_retry, false) as is_expiry,
        newest.source_rank,
        max(newest.source_rank) over (
            partition by newest.subscription_key, about.transaction_id order by newest.signed_at
        ) as best_rank
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
)

select
    subscription_key,
    purchased_at,
    transaction_id,
    signed_at,
    stated,
    auto_renew,
    expiration_reason,
    in_billing_retry,
    grace_expires_at,
    paused_at,
    resumes_at,
    is_failure,
    is_expiry
from spoken
where source_rank = best_rank
order by subscription_key, purchased_at, transaction_id, signed_at desc;

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
),

-- When auto-renew was switched off, on, off again: at the odd ones off.
switched as (
    select
        subscription_key,
        transaction_id,
        array_agg(signed_at order by signed_at) as switched_at
    from spoken
    where is_switch
    group by subscription_key, transaction_id
),

told as (
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
        (array_agg(resumes_at) filter (where stated & (1 << 8) <> 0))[1] as resumes_at
    from (
        select *
        from spoken
        -- No more than what is grouped by comes before the moment, or the groups would be sorted anew, in no order.
        order by subscription_key, transaction_id, signed_at desc
    ) as ordered
    group by subscription_key, transaction_id
)

select
    told.*,
    switched.switched_at
from told
left join switched using (subscription_key, transaction_id);

analyze word;
