-- Keeps whose chain it is, and puts down the chains with news of it to be settled.
with stored as (
    insert into fact.subscriber (
        subscription_key, subscriber_id, occurred_at, source, event_id
    )
    select
        subscription_key,
        subscriber_id,
        occurred_at,
        source,
        event_id
    from staged_subscriber
    order by subscription_key, occurred_at, subscriber_id collate "C", event_id collate "C"
    on conflict do nothing
    returning
        subscription_key,
        occurred_at as at
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
