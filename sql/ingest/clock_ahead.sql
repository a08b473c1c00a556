-- Versions signed more than a day after their event was first received are versioned at that receipt, and put down.
with receipts as materialized (
    select
        staged.subscription_key,
        staged.source,
        staged.event_id,
        stored.received_at
    from (
        select
            subscription_key,
            source,
            event_id,
            signed_at
        from staged_transaction
        union
        select
            subscription_key,
            source,
            event_id,
            signed_at
        from staged_renewal
    ) as staged
    inner join fact.chain as chain on chain.subscription_key = staged.subscription_key
    inner join ingest.event as stored
        on
            stored.app_id = chain.app_id
            and stored.source = staged.source
            and stored.event_id = staged.event_id
    where staged.signed_at > stored.received_at + interval '24 hours'
),

noted as (
    insert into fact.clock_ahead (subscription_key, source, event_id)
    select distinct
        subscription_key,
        source,
        event_id
    from receipts
    order by subscription_key, source, event_id
    on conflict do nothing
),

transactions as (
    update staged_transaction as staged
    set signed_at = receipts.received_at
    from receipts
    where
        staged.signed_at > receipts.received_at + interval '24 hours'
        and receipts.subscription_key = staged.subscription_key
        and receipts.source = staged.source
        and receipts.event_id = staged.event_id
)

update staged_renewal as staged
set signed_at = receipts.received_at
from receipts
where
    staged.signed_at > receipts.received_at + interval '24 hours'
    and receipts.subscription_key = staged.subscription_key
    and receipts.source = staged.source
    and receipts.event_id = staged.event_id;
