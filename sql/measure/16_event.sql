-- Makes an event of each time a chain became eligible for a win-back offer, once its time has come, and leaves the new ones in
-- stored_event, where what comes in leaves them too. Their ids are made of chain, offer and moment: one that was taken back and is
-- true again is the same event.
create temp table stored_event (
    subscription_key bigint not null,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    kind text not null,
    also text[] not null,
    occurred_at timestamptz not null,
    received_at timestamptz not null,
    environment text not null,
    transaction_id text,
    country text,
    amount bigint,
    currency text
) on commit drop;

with due as (
    update ledger.winback
    set is_told = true
    where not is_told and due_at < (select as_of from this_run)
    returning subscription_key, offer_id, eligible_at, product_id, country
),

named as (
    select
        due.*,
        chain.app_id,
        chain.store,
        chain.environment,
        chain.original_transaction_id,
        chain.app_transaction_id,
        nullif(owner.subscriber_id, chain.app_transaction_id) as subscriber_id,
        'winback-' || md5(
            concat_ws(e'\x1f', due.subscription_key, due.offer_id, extract(epoch from due.eligible_at))
        ) as event_id
    from due
    inner join fact.chain as chain using (subscription_key)
    left join lateral (
        select identity.subscriber_id
        from ledger.identity as identity
        where identity.subscription_key = due.subscription_key
        order by identity.starts_at desc
        limit 1
    ) as owner on true
),

made as (
    insert into ingest.event (
        subscription_key, app_id, source, event_id, kind, also, occurred_at, signed_at, received_at, store,
        environment, original_transaction_id, product_id, country, subscriber_id, app_transaction_id, body
    )
    select
        named.subscription_key,
        named.app_id,
        'measure',
        named.event_id,
        'winback_eligible',
        '{}',
        named.eligible_at,
        named.eligible_at,
        run.started_at,
        named.store,
        named.environment,
        named.original_transaction_id,
        named.product_id,
        named.country,
        named.subscriber_id,
        named.app_transaction_id,
        json_strip_nulls(
            json_build_object(
                'app_transaction_id', named.app_transaction_id,
                'detail', json_build_object('offer_id', named.offer_id),
                'environment', named.environment,
                'event_id', named.event_id,
                'kind', 'winback_eligible',
                'occurred_at',
                to_char(named.eligible_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                'original_transaction_id', named.original_transaction_id,
                'store', named.store,
                'subscriber_id', named.subscriber_id
            )
        )
    from named
    inner join measure.run as run on run.run_id = (select run_id from this_run)
    on conflict do nothing
    returning
        subscription_key, app_id, source, event_id, kind, also, occurred_at, received_at, environment, transaction_id,
        country, amount, currency
)

insert into stored_event
select *
from made;
