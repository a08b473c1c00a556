-- Keeps which ids are of one and the same customer, and puts down the ids of which that is new.
with stored as (
    insert into fact.alias as known (
        app_id, source, subscriber_id, customer_id, said_at
    )
    select
        app_id,
        source,
        subscriber_id,
        customer_id,
        said_at
    from staged_alias
    order by app_id, source, subscriber_id collate "C", customer_id collate "C"
    on conflict (app_id, source, subscriber_id, customer_id) do update
    set said_at = excluded.said_at
    where excluded.said_at < known.said_at
    returning
        app_id,
        subscriber_id,
        said_at
)

insert into ledger.renamed (app_id, subscriber_id, due_at)
select
    app_id,
    subscriber_id,
    said_at
from stored;
