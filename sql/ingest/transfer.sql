-- Keeps the transfers between customers, and puts down the ids that something was taken from.
with stored as (
    insert into fact.transfer (
        app_id, source, event_id, from_id, to_id, transferred_at
    )
    select
        app_id,
        source,
        event_id,
        from_id,
        to_id,
        transferred_at
    from staged_transfer
    order by app_id, source, event_id collate "C", from_id collate "C"
    on conflict do nothing
    returning
        app_id,
        from_id,
        transferred_at
)

insert into ledger.renamed (app_id, subscriber_id, due_at)
select
    app_id,
    from_id,
    transferred_at
from stored;
