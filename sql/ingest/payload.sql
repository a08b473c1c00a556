-- Keeps the payloads of the events that are new.
with headers as (
    insert into ingest.protected_header (header_id, header)
    select
        header_id,
        header
    from staged_header
    order by header_id
    on conflict do nothing
)

insert into ingest.payload (subscription_key, app_id, source, event_id, received_at, body, header_ids)
select
    staged.subscription_key,
    staged.app_id,
    staged.source,
    staged.event_id,
    staged.received_at,
    staged.body,
    staged.header_ids
from staged_payload as staged
inner join stored_event as stored
    on
        stored.app_id = staged.app_id
        and stored.source = staged.source
        and stored.event_id = staged.event_id
        and stored.subscription_key = staged.subscription_key
order by staged.app_id, staged.source collate "C", staged.event_id collate "C"
on conflict do nothing;
