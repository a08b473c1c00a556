-- Keeps the versions of renewal statuses that differ, and puts down the chains of those that are new to be settled.
with stored as (
    insert into fact.renewal (
        subscription_key, source, signed_at, digest, source_rank, stated, event_id, auto_renew,
        auto_renew_product_id, renews_at, renewal_price, currency, expiration_reason, in_billing_retry,
        grace_expires_at, paused_at, resumes_at, price_increase, eligible_win_back_offers
    )
    select
        subscription_key,
        source,
        signed_at,
        digest,
        source_rank,
        stated,
        event_id,
        auto_renew,
        auto_renew_product_id,
        renews_at,
        renewal_price,
        currency,
        expiration_reason,
        in_billing_retry,
        grace_expires_at,
        paused_at,
        resumes_at,
        price_increase,
        eligible_win_back_offers
    from staged_renewal
    order by subscription_key, signed_at, digest
    on conflict do nothing
    returning
        subscription_key,
        signed_at as at
),

noted as (
    insert into ledger.unsettled (subscription_key, transaction_id, at, due_at)
    select
        subscription_key,
        null,
        at,
        at
    from stored
    returning subscription_key
)

select count(*) as stored
from noted;
