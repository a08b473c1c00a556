-- The apps, and whether each knows the identifier $1; of $2, a key, where one is given.
select
    app.app_id,
    app.app_key,
    exists (
        select
        from ingest.event as event
        where event.app_id = app.app_id and (event.subscriber_id = $1::text or event.app_transaction_id = $1::text)
    )
    or exists (
        select
        from fact.chain as chain
        where chain.app_id = app.app_id and chain.app_transaction_id = $1::text
    )
    or exists (
        select
        from fact.alias as alias
        where alias.app_id = app.app_id and $1::text in (alias.subscriber_id, alias.customer_id)
    )
    or exists (
        select
        from fact.transfer as transfer
        where transfer.app_id = app.app_id and $1::text in (transfer.from_id, transfer.to_id)
    )
    or exists (
        select
        from ingest.erased as erased
        where erased.digest = sha256(convert_to(app.app_id || e'\x1f' || $1::text, 'UTF8'))
    ) as is_known
from ingest.app as app
where $2::text is null or app.app_key = $2::text
order by app.app_key;
