-- What the deliveries $1 say: the event of the best source that announces the same, and its kind as the facts have it.
--
-- $2 and $3 are the names of sources and how far each is believed. A delivery whose kind was settled before keeps its
-- event and its kind.
with picked as materialized (
    select
        delivery.delivery_id,
        delivery.target,
        delivery.app_id,
        delivery.subscription_key,
        delivery.source,
        delivery.event_id,
        delivery.announces,
        delivery.kind
    from forward.delivery as delivery
    where delivery.delivery_id = any($1)
),

told as materialized (
    select
        event.subscription_key,
        event.app_id,
        event.source,
        event.event_id,
        event.kind,
        event.also,
        event.transaction_id,
        event.occurred_at,
        event.received_at,
        event.body,
        forward.announces(
            event.subscription_key, event.kind, event.also, event.body -> 'detail' ->> 'effective',
            event.transaction_id, event.occurred_at
        ) as announces
    from ingest.event as event
    where event.subscription_key in (select picked.subscription_key from picked)
),

best as materialized (
    select distinct on (picked.delivery_id)
        picked.delivery_id,
        picked.target,
        picked.kind as settled_kind,
        told.subscription_key,
        told.app_id,
        told.source,
        told.event_id,
        told.kind,
        told.also,
        told.transaction_id,
        told.occurred_at,
        told.body
    from picked
    inner join told
        on
            told.subscription_key = picked.subscription_key
            and told.app_id = picked.app_id
            and case
                when picked.kind is null then told.announces = picked.announces
                else told.source = picked.source and told.event_id = picked.event_id
            end
    left join unnest($2::text [], $3::bigint []) as believed (source, rank) on believed.source = told.source
    order by picked.delivery_id, believed.rank desc nulls last, told.received_at, told.event_id
),

-- Each field from the best source that states it, within a source from the newest version.
effective as materialized (
    select
        version.subscription_key,
        version.transaction_id,
        (array_agg(
            version.purchased_at
            order by version.source_rank desc, version.signed_at desc, version.digest desc
        ) filter (where version.stated & (1 << 4) <> 0))[1] as purchased_at,
        (array_agg(
            version.price
            order by version.source_rank desc, version.signed_at desc, version.digest desc
        ) filter (where version.stated & (1 << 6) <> 0))[1] as price,
        (array_agg(
            version.offer_type
            order by version.source_rank desc, version.signed_at desc, version.digest desc
        ) filter (where version.stated & (1 << 10) <> 0))[1] as offer_type,
        (array_agg(
            version.offer_discount
            order by version.source_rank desc, version.signed_at desc, version.digest desc
        ) filter (where version.stated & (1 << 10) <> 0))[1] as offer_discount
    from fact.transaction as version
    where version.subscription_key in (select best.subscription_key from best)
    group by version.subscription_key, version.transaction_id
),

-- Unknown is neither free nor paid.
judged as (
    select
        effective.subscription_key,
        effective.transaction_id,
        effective.purchased_at,
        coalesce(effective.offer_discount = 'free_trial', false)
        or coalesce(effective.price = 0 and effective.offer_type is not null, false) as is_free,
        coalesce(effective.price > 0, false) as is_paid
    from effective
    where effective.purchased_at is not null
),

-- With no offset the first period of a chain has nothing before it: null, neither free nor paid.
course as (
    select
        judged.subscription_key,
        judged.transaction_id,
        judged.purchased_at,
        judged.is_free,
        judged.is_paid,
        lag(judged.is_free) over chain as follows_free,
        lag(judged.is_paid) over chain as follows_paid
    from judged
    window chain as (partition by judged.subscription_key order by judged.purchased_at, judged.transaction_id)
),

-- The period an event is about: its transaction's, else the one that ran when it happened.
concerned as (
    select distinct on (best.delivery_id)
        best.delivery_id,
        course.is_free,
        course.is_paid,
        course.follows_free,
        course.follows_paid
    from best
    inner join course
        on
            course.subscription_key = best.subscription_key
            and case
                when best.transaction_id is null then course.purchased_at <= best.occurred_at
                else course.transaction_id = best.transaction_id
            end
    order by best.delivery_id, course.purchased_at desc, course.transaction_id desc
),

settled as (
    select
        best.delivery_id,
        best.target,
        best.app_id,
        best.source,
        best.event_id,
        best.also,
        best.body,
        coalesce(best.settled_kind, case
            when best.kind = 'subscription_renewed' and concerned.follows_free and not concerned.is_free
                then 'trial_converted'
            when best.kind = 'trial_converted' and concerned.follows_paid then 'subscription_renewed'
            when best.kind = 'subscription_expired' and concerned.is_free then 'trial_expired'
            when best.kind = 'trial_expired' and concerned.is_paid then 'subscription_expired'
            when best.kind = 'auto_renew_disabled' and concerned.is_free then 'trial_cancelled'
            when best.kind = 'trial_cancelled' and concerned.is_paid then 'auto_renew_disabled'
            else best.kind
        end) as kind
    from best
    left join concerned on concerned.delivery_id = best.delivery_id
)

select
    settled.delivery_id,
    settled.target,
    settled.source,
    settled.event_id,
    settled.kind,
    settled.body,
    app.app_key,
    forward.accepts(target.events, settled.kind || settled.also) as is_wanted
from settled
inner join ingest.app as app on app.app_id = settled.app_id
inner join forward.target as target on target.name = settled.target
