-- What happened to a subscription, in order, and which event says so? Entries that were reversed are left out.
create view report.subscription_history as
with standing as (
    select
        subscription_key,
        purchased_at,
        transaction_id,
        part,
        at,
        kind,
        product_id,
        country,
        offer,
        charge,
        amount,
        currency,
        from_product_id,
        sum(sign * active) as active
    from ledger.entry
    group by
        subscription_key,
        purchased_at,
        transaction_id,
        part,
        at,
        kind,
        product_id,
        country,
        offer,
        charge,
        amount,
        currency,
        tax,
        commission,
        proceeds,
        active,
        price,
        price_currency,
        period,
        days,
        from_product_id,
        from_price,
        from_currency,
        from_period,
        from_days
    having sum(sign) <> 0
)

select
    app.app_key as app,
    chain.environment,
    chain.store,
    standing.subscription_key::text as subscription_id,
    row_number() over (
        partition by standing.subscription_key
        -- At one moment a period ends before the next begins.
        order by
            standing.at, standing.purchased_at, standing.transaction_id, standing.part, standing.active, standing.kind
    ) as entry,
    chain.original_transaction_id,
    standing.at as occurred_at,
    standing.kind,
    standing.active::integer as active,
    standing.transaction_id,
    standing.product_id,
    standing.from_product_id,
    standing.country,
    standing.offer,
    standing.charge,
    trim_scale(standing.amount::numeric / 1000000) as amount,
    case when standing.amount is not null then standing.currency end as currency,
    cause.event_id,
    cause.source,
    event.raw_kind
from standing
inner join fact.chain as chain using (subscription_key)
inner join ingest.app as app using (app_id)
left join lateral ledger.cause(
    standing.subscription_key, standing.transaction_id, standing.kind, standing.at
) as cause on true
left join ingest.event as event
    on
        chain.app_id = event.app_id
        and cause.source = event.source
        and cause.event_id = event.event_id
        and standing.subscription_key = event.subscription_key;

comment on view report.subscription_history is
'History of subscriptions, one row per thing that happened to a chain, in order';
comment on column report.subscription_history.app is 'Dimension: the app''s key';
comment on column report.subscription_history.environment is 'Dimension: the store''s environment';
comment on column report.subscription_history.store is 'Dimension: the store';
comment on column report.subscription_history.subscription_id is 'Dimension: the subscription key as text';
comment on column report.subscription_history.entry is 'Dimension: its number in the chain''s history, from 1';
comment on column report.subscription_history.original_transaction_id is 'Detail: the chain''s id at its store';
comment on column report.subscription_history.occurred_at is 'Detail: when it happened';
comment on column report.subscription_history.kind is
'Detail: what happened: new, renewed, product_changed, churned_voluntary, grace_entered, refunded and so on';
comment on column report.subscription_history.active is
'Detail: 1 when the chain became active by it, -1 when it ceased to be, else 0';
comment on column report.subscription_history.transaction_id is 'Detail: the transaction it concerns';
comment on column report.subscription_history.product_id is 'Detail: that transaction''s product';
comment on column report.subscription_history.from_product_id is 'Detail: the product before, where it went on from one';
comment on column report.subscription_history.country is 'Detail: the storefront, three letters';
comment on column report.subscription_history.offer is 'Detail: the offer''s type, or none';
comment on column report.subscription_history.charge is 'Detail: the kind of charge that was made or returned';
comment on column report.subscription_history.amount is 'Detail: money charged, negative when returned; null when unknown';
comment on column report.subscription_history.currency is 'Detail: ISO 4217 code of the amount';
comment on column report.subscription_history.event_id is 'Detail: the event that says so';
comment on column report.subscription_history.source is 'Detail: the stream that event came by';
comment on column report.subscription_history.raw_kind is 'Detail: the vendor''s word for it';

grant select on report.subscription_history to tenure_support, tenure_writer;
