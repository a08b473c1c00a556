-- Puts the identifiers that are to go into erasure_name, each with the random name that it becomes, and keeps their digests:
-- $1 in the apps $2, the other ids of the same customer, and the app transaction ids of chains that are theirs alone; $3 is
-- now.
with customer as (
    select
        app_id,
        $1::text as customer_id
    from unnest($2::bigint[]) as wanted (app_id)
    union
    select
        app_id,
        customer_id
    from fact.alias
    where app_id = any($2::bigint[]) and subscriber_id = $1::text
),

id as (
    select
        app_id,
        customer_id as subscriber_id
    from customer
    union
    select
        app_id,
        alias.subscriber_id
    from customer
    inner join fact.alias as alias using (app_id, customer_id)
),

theirs as (
    select
        chain.app_id,
        chain.subscription_key,
        chain.app_transaction_id
    from fact.chain as chain
    inner join fact.subscriber as subscriber using (subscription_key)
    left join id on chain.app_id = id.app_id and subscriber.subscriber_id = id.subscriber_id
    where chain.app_id = any($2::bigint[])
    group by chain.app_id, chain.subscription_key, chain.app_transaction_id
    having bool_and(id.subscriber_id is not null)
),

identifier as (
    select
        app_id,
        subscriber_id as identifier
    from id
    union
    select
        app_id,
        app_transaction_id
    from theirs
    where app_transaction_id is not null
    union
    select
        theirs.app_id,
        event.app_transaction_id
    from theirs
    inner join ingest.event as event using (app_id, subscription_key)
    where event.app_transaction_id is not null
),

named as (
    insert into erasure_name (app_id, identifier, name, pattern)
    select
        app_id,
        identifier,
        'erased-' || gen_random_uuid(),
        -- The identifier as a word of its own, in whatever text.
        '(^|[^[:alnum:]])' || regexp_replace(identifier, '([^[:alnum:]])', '\\\1', 'g') || '($|[^[:alnum:]])'
    from identifier
    returning app_id, identifier
)

insert into ingest.erased (digest, erased_at)
select
    sha256(convert_to(app_id || e'\x1f' || identifier, 'UTF8')),
    $3::timestamptz
from named
order by app_id, identifier
on conflict do nothing;
