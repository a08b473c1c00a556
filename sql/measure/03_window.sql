-- Decides which chains to settle and which part of each: from the second-last transaction before the first that changed,
-- whose stored state carries all that came before it, to the first after the last that changed, and with the one after
-- that to look ahead. Where the last one differs from what was stored, a later step widens the window to the chain's end.
create temp table first_change on commit drop as
with touched as (
    select
subscription_key,
purchased_at as at,
purchased_at as until_at
    from effective
    where purchased_at < (select as_of from this_run)
    union all
    select
subscription_key,
stored.purchased_at,
stored.purchased_at
    from effective
    inner join ledger.period as stored using (subscription_key, transaction_id)
    union all
    -- A status speaks about the last period bought by then, or the last that had ended (or was about to). The earliest
    -- of a chain's statuses speaks about the earliest period.
    select
        said.subscription_key,
        least(said.at, bought.purchased_at, ended.purchased_at),
        said.until_at
    from (
        select
            subscription_key,
            min(at) as at,
            max(at) as until_at
        from unsettled
        where transaction_id is null
        group by subscription_key
    ) as said
    left join lateral (
        select purchased_at
        from ledger.period
        where subscription_key = said.subscription_key and purchased_at <= said.at
        order by purchased_at desc
        limit 1
    ) as bought on true
    left join lateral (
        select purchased_at
        from ledger.period
        where
            subscription_key = said.subscription_key
            and purchased_at <= said.at
            and expires_at <= said.at + interval '24 hours'
        order by purchased_at desc
        limit 1
    ) as ended on true
    union all
    -- A failure speaks about the last period that had ended by then. A change of what had ended gives it to another one, or
    -- takes it from one, which may lie further back than the row before.
    select
        changed.subscription_key,
        ended.purchased_at,
        changed.at
    from (
        select
            effective.subscription_key,
            least(effective.purchased_at, stored.purchased_at) as at,
            least(effective.expires_at, stored.expires_at) as expires_at
        from effective
        inner join ledger.chain using (subscription_key)
        left join ledger.period as stored
            on
                effective.subscription_key = stored.subscription_key
                and effective.transaction_id = stored.transaction_id
        -- Where everything is derived again all of it is.
        where not (select is_rebuild from this_run)
    ) as changed
    cross join lateral (
        select failure.signed_at
        from fact.renewal as failure
        where
            failure.subscription_key = changed.subscription_key
            and failure.signed_at >= changed.expires_at - interval '24 hours'
            and (failure.in_billing_retry or failure.grace_expires_at is not null)
        order by failure.signed_at
        limit 1
    ) as said
    cross join lateral (
        select stored.purchased_at
        from ledger.period as stored
        where
            stored.subscription_key = changed.subscription_key
            and stored.purchased_at < changed.at
            and stored.expires_at <= said.signed_at + interval '24 hours'
        order by stored.purchased_at desc
        limit 1
    ) as ended
    union all
    select
subscription_key,
purchased_at,
purchased_at
    from ledger.period
    where due_at < (select as_of from this_run)
)

select
subscription_key,
min(at) as from_at,
max(until_at) as until_at
from touched
group by subscription_key;

analyze first_change;

-- Chains that continue one another are read as one line: with one of them all are settled, from their beginning.
create temp table joined on commit drop as
with recursive reached as (
    select
        first_change.subscription_key as reached_from,
        first_change.subscription_key
    from first_change
    where
        exists (select from fact.link where link.subscription_key = first_change.subscription_key)
        or exists (select from fact.link where link.previous_subscription_key = first_change.subscription_key)
    union
    select
        reached.reached_from,
        neighbour.subscription_key
    from reached
    cross join lateral (
        select link.previous_subscription_key as subscription_key
        from fact.link
        where link.subscription_key = reached.subscription_key
        union all
        select link.subscription_key
        from fact.link
        where link.previous_subscription_key = reached.subscription_key
    ) as neighbour
),

lined as (
    select
        subscription_key,
        min(subscription_key) over (partition by reached_from) as line_key
    from reached
)

select
    lined.subscription_key,
    min(lined.line_key) as line_key
from lined
inner join fact.chain using (subscription_key)
group by lined.subscription_key;

insert into first_change
select
joined.subscription_key,
'-infinity',
'infinity'
from joined
left join first_change using (subscription_key)
where first_change.subscription_key is null;

analyze first_change;

create temp table settling on commit drop as
with classes as (
    select
subscription_key,
min(class) as least_class,
max(class) as greatest_class
    from effective
    group by subscription_key
)

select
    first_change.subscription_key,
    first_change.from_at,
    context.purchased_at as base_at,
    context.transaction_id as base_transaction_id,
    after.stop_at,
    after.stop_transaction_id,
    after.beyond_at,
    after.beyond_transaction_id,
    after.beyond_until,
    chain.subscription_key is null as is_new,
    coalesce(joined.line_key, first_change.subscription_key) as line_key,
    chain.line_key as line_key_before
from first_change
left join joined using (subscription_key)
left join ledger.chain as chain using (subscription_key)
left join classes using (subscription_key)
left join lateral (
    -- Only where the two rows before are ordinary ones of the chain's one class can they carry the state; likewise the
    -- two after.
    select
        (array_agg(before.purchased_at order by before.purchased_at, before.transaction_id))[1] as purchased_at,
        (array_agg(before.transaction_id order by before.purchased_at, before.transaction_id))[1] as transaction_id
    from (
        select
purchased_at,
transaction_id,
is_empty
        from ledger.period
        where subscription_key = first_change.subscription_key and purchased_at < first_change.from_at
        order by purchased_at desc, transaction_id desc
        limit 2
    ) as before
    where
        chain.class <> 'mixed'
        and chain.class = coalesce(classes.least_class, chain.class)
        and chain.class = coalesce(classes.greatest_class, chain.class)
    having count(*) = 2 and not bool_or(before.is_empty)
) as context on joined.line_key is null
left join lateral (
    select
        (array_agg(later.purchased_at order by later.purchased_at, later.transaction_id))[1] as stop_at,
        (array_agg(later.transaction_id order by later.purchased_at, later.transaction_id))[1] as stop_transaction_id,
        (array_agg(later.purchased_at order by later.purchased_at, later.transaction_id))[2] as beyond_at,
        (array_agg(later.transaction_id order by later.purchased_at, later.transaction_id))[2] as beyond_transaction_id,
        -- No later status speaks about what lies before the row beyond.
        greatest(
            max(later.purchased_at),
            (array_agg(later.expires_at order by later.purchased_at, later.transaction_id))[2] - interval '24 hours'
        ) as beyond_until
    from (
        select
purchased_at,
transaction_id,
expires_at,
is_empty
        from ledger.period
        where subscription_key = first_change.subscription_key and purchased_at > first_change.until_at
        order by purchased_at, transaction_id
        limit 2
    ) as later
    where
        chain.class <> 'mixed'
        and chain.class = coalesce(classes.least_class, chain.class)
        and chain.class = coalesce(classes.greatest_class, chain.class)
    having count(*) = 2 and not bool_or(later.is_empty)
) as after on joined.line_key is null;

analyze settling;
