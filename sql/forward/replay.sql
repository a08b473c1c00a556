-- Makes deliveries to the target $1, due at $2, of the events it wants: since $3 and before $5, or with the id $4. Their age does not
-- matter, and what was announced before is left as it is.
insert into forward.delivery (
    target, app_id, source, event_id, subscription_key, announces, occurred_at, due_at, created_at
)
select
    target.name as target,
    event.app_id,
    event.source,
    event.event_id,
    event.subscription_key,
    forward.announces(
        event.subscription_key, event.kind, event.also, event.body -> 'detail' ->> 'effective', event.transaction_id,
        event.event_id, event.occurred_at
    ) as announces,
    event.occurred_at,
    $2::timestamptz as due_at,
    $2::timestamptz as created_at
from ingest.event as event
inner join ingest.app as app on app.app_id = event.app_id
inner join forward.target as target
    on
        target.name = $1::text
        and forward.wants(
            target, event.kind, event.also, app.app_key, event.environment, event.country, event.amount
        )
where
    event.occurred_at >= coalesce($3::timestamptz, '-infinity')
    and event.occurred_at < coalesce($5::timestamptz, 'infinity')
    and event.event_id = coalesce($4::text, event.event_id)
order by event.occurred_at, event.source, event.event_id
on conflict (target, announces) do nothing
returning delivery_id
