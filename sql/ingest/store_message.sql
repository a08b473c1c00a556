-- Keeps which App Store messages were shown or held back. No figure is made of them: nothing is to be settled.
with stored as (
    insert into fact.store_message (
        subscription_key, message, shown_at, source, event_id, is_pending
    )
    select
        subscription_key,
        message,
        shown_at,
        source,
        event_id,
        is_pending
    from staged_store_message
    order by subscription_key, message collate "C", shown_at, event_id collate "C"
    on conflict do nothing
    returning subscription_key
)

select count(*) as stored
from stored;
