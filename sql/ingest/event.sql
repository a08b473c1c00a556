-- Stores the events that are new. An event is one by app, source and id alone, whatever chain it names.
with known as materialized (
    select
        staged.app_id,
        staged.source,
        staged.event_id
    from staged_event as staged
    inner join ingest.event as stored
        on
            stored.app_id = staged.app_id
            and stored.source = staged.source
            and stored.event_id = staged.event_id
),

stored as (
    insert into ingest.event (
        subscription_key, app_id, source, event_id, kind, also, raw_kind, occurred_at, signed_at, received_at,
        store, environment, original_transaction_id, transaction_id, product_id, country, amount, currency,
        subscriber_id, app_transaction_id, body
    )
    select
        staged.subscription_key,
        staged.app_id,
        staged.source,
        staged.event_id,
        staged.kind,
        staged.also,
        staged.raw_kind,
        staged.occurred_at,
        staged.signed_at,
        staged.received_at,
        staged.store,
        staged.environment,
        staged.original_transaction_id,
        staged.transaction_id,
        staged.product_id,
        staged.country,
        staged.amount,
        staged.currency,
        staged.subscriber_id,
        staged.app_transaction_id,
        staged.body
    from staged_event as staged
    left join known
        on
            known.app_id = staged.app_id
            and known.source = staged.source
            and known.event_id = staged.event_id
    where known.event_id is null
    order by staged.app_id, staged.source collate "C", staged.event_id collate "C"
    on conflict do nothing
    returning
        subscription_key,
        app_id,
        source,
        event_id,
        kind,
        also,
        occurred_at,
        received_at,
        environment,
        transaction_id,
        country,
        amount,
        currency
),

noted as (
    insert into stored_event (
        subscription_key, app_id, source, event_id, kind, also, occurred_at, received_at, environment,
        transaction_id, country, amount, currency
    )
    select
        subscription_key,
        app_id,
        source,
        event_id,
        kind,
        also,
        occurred_at,
        received_at,
        environment,
        transaction_id,
        country,
        amount,
        currency
    from stored
    returning kind
)

select
    count(*) as stored,
    count(*) filter (where kind = 'unrecognised') as unrecognised
from noted;
