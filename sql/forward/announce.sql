-- Makes the deliveries of the events that were just stored, in their transaction.
--
-- Reads the temporary table stored_event: the events that were not known before. It is run after ingest.event has them.
-- Sorted, so that two transactions that announce the same meet in the same order and never each wait for the other. What
-- was announced before is left out here and not by the conflict: that would wait for a forwarder which is just writing
-- the delivery's row.
insert into forward.delivery (
    target, app_id, source, event_id, subscription_key, announces, occurred_at, due_at, created_at
)
select
    found.target,
    found.app_id,
    found.source,
    found.event_id,
    found.subscription_key,
    found.announces,
    found.occurred_at,
    found.received_at as due_at,
    found.received_at as created_at
from (
    select
        target.name as target,
        stored.app_id,
        stored.source,
        stored.event_id,
        stored.subscription_key,
        stored.occurred_at,
        stored.received_at,
        forward.announces(
            stored.subscription_key, stored.kind, stored.also, event.body -> 'detail' ->> 'effective',
            stored.transaction_id, stored.event_id, stored.occurred_at
        ) as announces
    from stored_event as stored
    inner join ingest.app as app on app.app_id = stored.app_id
    inner join forward.target as target
        on
            target.is_configured
            and stored.occurred_at >= stored.received_at - target.max_age
            and stored.occurred_at >= target.starts_at
            and forward.wants(
                target, stored.kind, stored.also, app.app_key, stored.environment, stored.country, stored.amount
            )
    -- Only of a change of product more must be known: whether it is immediate, and so a charge.
    left join ingest.event as event
        on
            'product_changed' = any(stored.kind || stored.also)
            and event.subscription_key = stored.subscription_key
            and event.app_id = stored.app_id
            and event.source = stored.source
            and event.event_id = stored.event_id
) as found
where
    not exists (
        select from forward.delivery as known
        where known.target = found.target and known.announces = found.announces
    )
order by found.target, found.announces, found.source, found.event_id
on conflict (target, announces) do nothing
