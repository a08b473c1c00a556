-- Keeps the versions of transactions that differ, and puts down the chains of those that are new to be settled.
with stored as (
    insert into fact.transaction (
        subscription_key, transaction_id, source, signed_at, digest, source_rank, stated, event_id, type,
        product_id, group_id, period, purchased_at, expires_at, price, currency, country, reason, ownership,
        offer_type, offer_id, offer_discount, offer_period, revoked_at, revocation, refund, tax, commission,
        proceeds, is_upgraded, quantity
    )
    select
        subscription_key,
        transaction_id,
        source,
        signed_at,
        digest,
        source_rank,
        stated,
        event_id,
        type,
        product_id,
        group_id,
        period,
        purchased_at,
        expires_at,
        price,
        currency,
        country,
        reason,
        ownership,
        offer_type,
        offer_id,
        offer_discount,
        offer_period,
        revoked_at,
        revocation,
        refund,
        tax,
        commission,
        proceeds,
        is_upgraded,
        quantity
    from staged_transaction
    order by subscription_key, transaction_id collate "C", signed_at, digest
    on conflict do nothing
    returning
        subscription_key,
        transaction_id,
        coalesce(purchased_at, signed_at) as at,
        -- A version that does not say when was bought what it speaks of may speak of what was bought long ago.
        coalesce(purchased_at, '-infinity') as due_at
),

noted as (
    insert into ledger.unsettled (subscription_key, transaction_id, at, due_at)
    select
        subscription_key,
        transaction_id,
        at,
        due_at
    from stored
    returning subscription_key
)

select count(*) as stored
from noted;
