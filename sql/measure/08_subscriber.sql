-- Whose the settled chains are, and when those subscribers were active over all their chains.
create temp table owner on commit drop as
with recursive known as (
    -- Nearly every chain has had one customer id all its life; least and greatest come from the index.
    select
        settling.subscription_key,
        chain.app_id,
        least_id.subscriber_id as least_id,
        -- A chain has had one customer all its life unless two ids are named, or the one's purchases moved.
        least_id.subscriber_id is null
        or least_id.subscriber_id = greatest_id.subscriber_id and giver.from_id is null as has_one
    from settling
    inner join fact.chain as chain using (subscription_key)
    left join lateral (
        select subscriber.subscriber_id
        from fact.subscriber as subscriber
        where
            subscriber.subscription_key = settling.subscription_key
            and subscriber.occurred_at < (select as_of from this_run)
        order by subscriber.subscriber_id
        limit 1
    ) as least_id on true
    left join lateral (
        select subscriber.subscriber_id
        from fact.subscriber as subscriber
        where
            subscriber.subscription_key = settling.subscription_key
            and subscriber.occurred_at < (select as_of from this_run)
        order by subscriber.subscriber_id desc
        limit 1
    ) as greatest_id on true
    left join (
        select distinct
            app_id,
            from_id
        from fact.transfer
    ) as giver on giver.app_id = chain.app_id and giver.from_id = least_id.subscriber_id
),

-- Whom the best source names that names anyone, at each moment.
told as (
    select
        *,
        lead(occurred_at, 1, 'infinity') over (partition by subscription_key order by occurred_at) as until_at
    from (
        select distinct on (subscriber.subscription_key, subscriber.occurred_at)
            subscriber.subscription_key,
            known.app_id,
            subscriber.occurred_at,
            subscriber.subscriber_id,
            best.source_rank
        from known
        inner join lateral (
            select max(fact.source_rank(subscriber.source)) as source_rank
            from fact.subscriber as subscriber
            where
                subscriber.subscription_key = known.subscription_key
                and subscriber.occurred_at < (select as_of from this_run)
        ) as best on true
        inner join fact.subscriber as subscriber
            on
                known.subscription_key = subscriber.subscription_key
                and best.source_rank = fact.source_rank(subscriber.source)
        where not known.has_one and subscriber.occurred_at < (select as_of from this_run)
        order by
            subscriber.subscription_key, subscriber.occurred_at, subscriber.subscriber_id desc
    ) as moments
),

-- From there on, as often as the purchases moved until somebody is named again. A source that is believed less moves nothing.
held as (
    select
        subscription_key,
        app_id,
        occurred_at,
        subscriber_id,
        until_at,
        source_rank
    from told
    union all
    select
        held.subscription_key,
        held.app_id,
        moved.transferred_at,
        moved.to_id,
        held.until_at,
        held.source_rank
    from held
    cross join lateral (
        select
            transfer.transferred_at,
            transfer.to_id
        from fact.transfer as transfer
        where
            transfer.app_id = held.app_id
            and transfer.from_id = held.subscriber_id
            and transfer.transferred_at > held.occurred_at
            and transfer.transferred_at < held.until_at
            and transfer.transferred_at < (select as_of from this_run)
            and fact.source_rank(transfer.source) >= held.source_rank
        order by transfer.transferred_at, transfer.source, transfer.event_id
        limit 1
    ) as moved
),

named as (
    select
        subscription_key,
        '-infinity'::timestamptz as starts_at,
        least_id as subscriber_id
    from known
    where has_one
    union all
    -- The id on the newest event before a moment, and before the first known id the first known one.
    select
        subscription_key,
        case when nth = 1 then '-infinity' else occurred_at end,
        subscriber_id
    from (
        select
            *,
            row_number() over (partition by subscription_key order by occurred_at) as nth,
            lag(subscriber_id) over (partition by subscription_key order by occurred_at) as previous_id
        from held
    ) as numbered
    where nth = 1 or subscriber_id <> previous_id
)

select
    named.subscription_key,
    named.starts_at,
    coalesce(named.subscriber_id, chain.app_transaction_id) as subscriber_id,
    chain.app_id,
    chain.environment,
    case
        when named.subscriber_id is not null
            then
                hashtextextended(
                    concat_ws(
                        e'\x1f',
                        chain.app_id,
                        chain.environment,
                        'subscriber',
                        coalesce(customer.customer_id, named.subscriber_id)
                    ),
                    0
                )
        when chain.app_transaction_id is not null
            then
                hashtextextended(
                    concat_ws(e'\x1f', chain.app_id, chain.environment, 'app_transaction', chain.app_transaction_id), 0
                )
        else
            hashtextextended(
                concat_ws(e'\x1f', chain.app_id, chain.environment, 'chain', named.subscription_key), 0
            )
    end as subscriber_key
from named
inner join fact.chain as chain using (subscription_key)
-- Ids of one and the same customer are one subscriber, whatever he was called at the time.
left join (
    select distinct on (app_id, subscriber_id)
        app_id,
        subscriber_id,
        customer_id
    from fact.alias
    where said_at < (select as_of from this_run)
    order by app_id, subscriber_id, said_at desc, customer_id desc
) as customer on customer.app_id = chain.app_id and customer.subscriber_id = named.subscriber_id;

-- Subscribers whose active time may have changed: of chains with new moves, and of chains that changed hands.
create temp table moved_subscriber on commit drop as
with moved_chain as (
    select subscription_key
    from posting
    where active <> 0
    union
    -- A change of hands concerns everyone who holds or held the chain: where one begins the one before ends.
    select subscription_key
    from owner
    full join (
        select identity.*
        from ledger.identity as identity
        inner join settling using (subscription_key)
    ) as stored using (subscription_key, starts_at)
    where owner.subscriber_key is distinct from stored.subscriber_key
    union
    select subscription_key
    from settling
    where (select is_rebuild from this_run)
)

select owner.subscriber_key
from owner
inner join moved_chain using (subscription_key)
union
select identity.subscriber_key
from ledger.identity as identity
inner join moved_chain using (subscription_key);

create temp table owner_before on commit drop as
select identity.*
from settling
inner join ledger.identity as identity using (subscription_key)
where not settling.is_new;

delete from ledger.identity
using settling
where settling.subscription_key = identity.subscription_key and not settling.is_new;

insert into ledger.identity (subscription_key, starts_at, subscriber_key, subscriber_id)
select
subscription_key,
starts_at,
subscriber_key,
subscriber_id
from owner
order by subscription_key, starts_at;

create temp table subscriber_posting on commit drop as
with held as (
    select
        identity.subscriber_key,
        identity.subscription_key,
        identity.starts_at,
        lead(identity.starts_at, 1, 'infinity') over (
            partition by identity.subscription_key order by identity.starts_at
        ) as ends_at
    from ledger.identity as identity
    where
        identity.subscription_key in (
            select his.subscription_key
            from moved_subscriber
            inner join ledger.identity as his using (subscriber_key)
        )
),

chain_move as (
    select
        entry.subscription_key,
        entry.at,
        sum(entry.sign * entry.active) as active
    from (select distinct subscription_key from held) as chains
    inner join ledger.entry as entry using (subscription_key)
    where entry.active <> 0
    group by entry.subscription_key, entry.at
    having sum(entry.sign * entry.active) <> 0
),

chain_time as (
    select
        subscription_key,
        active,
        at as starts_at,
        lead(at, 1, 'infinity') over (partition by subscription_key order by at) as ends_at
    from chain_move
),

active_time as (
    select
        held.subscriber_key,
        greatest(chain_time.starts_at, held.starts_at) as starts_at,
        least(chain_time.ends_at, held.ends_at) as ends_at
    from chain_time
    inner join held using (subscription_key)
    inner join moved_subscriber using (subscriber_key)
    where
        chain_time.active > 0
        and chain_time.starts_at < held.ends_at and held.starts_at < chain_time.ends_at
),

-- The union of those times: it begins where none other covers the moment before, and ends likewise.
edge as (
    select
        subscriber_key,
        at,
        sum(step) as step
    from (
        select
subscriber_key,
starts_at as at,
1 as step
        from active_time
        union all
        select
subscriber_key,
ends_at,
-1
        from active_time
    ) as steps
    group by subscriber_key, at
),

level as (
    select
        *,
        sum(step) over (partition by subscriber_key order by at) as after,
        sum(step) over (partition by subscriber_key order by at) - step as before
    from edge
),

should_be as (
    select
        subscriber_key,
        at,
        case when before = 0 then 1 else -1 end::smallint as active
    from level
    where (before = 0) <> (after = 0) and at < 'infinity'
),

compared as (
    select
subscriber_key,
at,
active,
1 as n
    from should_be
    union all
    select
subscriber_entry.subscriber_key,
subscriber_entry.at,
subscriber_entry.active,
-subscriber_entry.sign
    from moved_subscriber
    inner join ledger.subscriber_entry as subscriber_entry using (subscriber_key)
)

select
    subscriber_key,
    at,
    active,
    sum(n) as n
from compared
group by subscriber_key, at, active
having sum(n) <> 0;

create temp table subscriber_posted on commit drop as
select
    subscriber_posting.subscriber_key,
    subscriber_posting.at,
    subscriber_posting.active,
    sign(subscriber_posting.n)::smallint as sign,
    belongs.app_id,
    belongs.environment
from subscriber_posting
inner join (
    select distinct on (subscriber_key)
subscriber_key,
app_id,
environment
    from (
        select
subscriber_key,
app_id,
environment
        from owner
        union all
        select
subscriber_entry.subscriber_key,
subscriber_entry.app_id,
subscriber_entry.environment
        from moved_subscriber
        inner join ledger.subscriber_entry as subscriber_entry using (subscriber_key)
    ) as known
) as belongs using (subscriber_key);

insert into ledger.subscriber_entry (subscriber_key, at, run_id, active, sign, app_id, environment)
select
subscriber_key,
at,
(select run_id from this_run),
active,
sign,
app_id,
environment
from subscriber_posted
order by subscriber_key, at;
