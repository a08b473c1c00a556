-- Versions signed more than a day after they were received are versioned at the receipt of their event, which is an
-- earlier one when the event was known.
with receipts as materialized (
    select distinct
        staged.app_id,
        staged.source,
        staged.event_id,
        stored.received_at
    from (
        select
            app_id,
            source,
            event_id
        from staged_transaction
        where is_ahead
        union all
        select
            app_id,
            source,
            event_id
        from staged_renewal
        where is_ahead
    ) as staged
    inner join ingest.event as stored
        on
            stored.app_id = staged.app_id
            and stored.source = staged.source
            and stored.event_id = staged.event_id
),

transactions as (
    update staged_transaction as staged
    set signed_at = receipts.received_at
    from receipts
    where
        staged.is_ahead
        and receipts.app_id = staged.app_id
        and receipts.source = staged.source
        and receipts.event_id = staged.event_id
)

update staged_renewal as staged
set signed_at = receipts.received_at
from receipts
where
    staged.is_ahead
    and receipts.app_id = staged.app_id
    and receipts.source = staged.source
    and receipts.event_id = staged.event_id;
