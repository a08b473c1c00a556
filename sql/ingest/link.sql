-- Keeps the links between chains, and puts down the chains with new ones to be settled from their beginning.
with stored as (
    insert into fact.link (
        subscription_key, previous_subscription_key, event_id
    )
    select
        subscription_key,
        previous_subscription_key,
        event_id
    from staged_link
    order by subscription_key, previous_subscription_key
    on conflict do nothing
    returning
        subscription_key,
        timestamptz '0001-01-01 00:00:00+00' as at
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
