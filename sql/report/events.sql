-- What came in? Every event as it was decoded, which needs no run of measure; and what runs found out.
create view report.events as
select
    app.app_key as app,
    event.environment,
    event.store,
    event.event_id,
    event.source,
    event.kind,
    event.also,
    event.raw_kind,
    event.occurred_at,
    event.received_at,
    case when event.original_transaction_id is not null then event.subscription_key::text end as subscription_id,
    event.original_transaction_id,
    event.transaction_id,
    event.product_id,
    event.country,
    trim_scale(event.amount::numeric / 1000000) as amount,
    event.currency
from ingest.event as event
inner join ingest.app as app using (app_id);

comment on view report.events is
'Events, one row per event of an app and a source';
comment on column report.events.app is 'Dimension: the app''s key';
comment on column report.events.environment is 'Dimension: the store''s environment';
comment on column report.events.store is 'Dimension: the store';
comment on column report.events.event_id is 'Dimension: the vendor''s id of the event';
comment on column report.events.source is 'Dimension: the stream it came by, or measure where a run found it out';
comment on column report.events.kind is 'Dimension: what happened, as the decoder told it';
comment on column report.events.also is 'Detail: what else happened';
comment on column report.events.raw_kind is 'Dimension: the vendor''s words';
comment on column report.events.occurred_at is 'Detail: when it happened, by the source''s clock';
comment on column report.events.received_at is 'Detail: when it came, by ours';
comment on column report.events.subscription_id is
'Detail: the subscription key as text; null for events about no chain';
comment on column report.events.original_transaction_id is 'Detail: the chain''s id at its store';
comment on column report.events.transaction_id is 'Detail: the transaction it is about';
comment on column report.events.product_id is 'Dimension: the product';
comment on column report.events.country is 'Dimension: the storefront';
comment on column report.events.amount is 'Detail: the money it moved, a refund negative; null when none or unknown';
comment on column report.events.currency is 'Dimension: the currency of amount';

grant select on report.events to tenure_support, tenure_writer;
