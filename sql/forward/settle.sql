-- What the deliveries $1 say: the event of the best source that announces the same, and its kind as the facts have it.
--
-- $2 and $3 are the names of sources and how far each is believed, $4 is how many seconds a period that ended without
-- word is waited for. A delivery whose kind was settled before keeps its event, its kind and its direction.
--
-- The kind of a charge is told by the transaction before it and the store's word about that one, by the same rules as
-- the ledger's (measure/04_word.sql, measure/05_period.sql), but from the facts alone: what is sent cannot wait until
-- the event was measured. Where they do not tell what came before, the source's word stands.
with picked as materialized (
    select
        delivery.delivery_id,
        delivery.target,
        delivery.app_id,
        delivery.subscription_key,
        delivery.source,
        delivery.event_id,
        delivery.announces,
        delivery.kind,
        delivery.direction
    from forward.delivery as delivery
    where delivery.delivery_id = any($1)
),

-- Their chains. What follows is read for these alone; that they are as many as the deliveries tells the planner that
-- there is more than a handful of everything.
keys as materialized (
    select distinct picked.subscription_key
    from picked
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
            event.transaction_id, event.event_id, event.occurred_at
        ) as announces
    from ingest.event as event
    where event.subscription_key in (select keys.subscription_key from keys)
),

best as materialized (
    select distinct on (picked.delivery_id)
        picked.delivery_id,
        picked.target,
        picked.kind as settled_kind,
        picked.direction as settled_direction,
        split_part(told.announces, ':', 2) = 'charge' as is_charge,
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
    left join unnest($2::text[], $3::bigint[]) as believed (source, rank) on believed.source = told.source
    order by picked.delivery_id, believed.rank desc nulls last, told.received_at, told.event_id
),

own as materialized (
    select version.*
    from fact.transaction as version
    where version.subscription_key in (select keys.subscription_key from keys)
),

-- A transaction belongs to one chain of its store, as measure/02_effective.sql has it: where several name it, to the one
-- that the best source names, there by the newest version.
shared as materialized (
    select distinct own.transaction_id
    from own
    inner join fact.transaction as theirs on theirs.transaction_id = own.transaction_id
    where theirs.subscription_key <> own.subscription_key
),

home as materialized (
    select distinct on (
        theirs.transaction_id, chain.app_id, replace(chain.store, 'mac_app_store', 'app_store'), chain.environment
    )
        theirs.transaction_id,
        theirs.subscription_key
    from shared
    inner join fact.transaction as theirs on theirs.transaction_id = shared.transaction_id
    inner join fact.chain as chain on chain.subscription_key = theirs.subscription_key
    order by
        theirs.transaction_id, chain.app_id, replace(chain.store, 'mac_app_store', 'app_store'), chain.environment,
        theirs.source_rank desc, theirs.signed_at desc, theirs.digest desc, theirs.subscription_key
),

version as materialized (
    select own.*
    from own
    where
        not exists (select from shared where shared.transaction_id = own.transaction_id)
        or exists (
            select from home
            where home.transaction_id = own.transaction_id and home.subscription_key = own.subscription_key
        )
),

-- Each field from the best source that states it, within a source from the newest version.
effective as materialized (
    select
        subscription_key,
        transaction_id,
        (array_agg(type) filter (where stated & (1 << 0) <> 0))[1] as type,
        (array_agg(product_id) filter (where stated & (1 << 1) <> 0))[1] as product_id,
        (array_agg(period) filter (where stated & (1 << 3) <> 0))[1] as period,
        (array_agg(purchased_at) filter (where stated & (1 << 4) <> 0))[1] as purchased_at,
        (array_agg(expires_at) filter (where stated & (1 << 5) <> 0))[1] as expires_at,
        (array_agg(price) filter (where stated & (1 << 6) <> 0))[1] as price,
        (array_agg(currency) filter (where stated & (1 << 6) <> 0))[1] as currency,
        (array_agg(reason) filter (where stated & (1 << 8) <> 0))[1] as reason,
        (array_agg(ownership) filter (where stated & (1 << 9) <> 0))[1] as ownership,
        (array_agg(offer_type) filter (where stated & (1 << 10) <> 0))[1] as offer_type,
        (array_agg(offer_discount) filter (where stated & (1 << 10) <> 0))[1] as offer_discount,
        (array_agg(offer_period) filter (where stated & (1 << 10) <> 0))[1] as offer_period
    from (
        select version.*
        from version
        order by
            version.subscription_key, version.transaction_id, version.source_rank desc, version.signed_at desc,
            version.digest desc
    ) as ordered
    group by subscription_key, transaction_id
),

-- Revocations are read from the best source alone. One holds until the first later version without it.
revocation as materialized (
    select *
    from (
        select
            subscription_key,
            transaction_id,
            revoked_at,
            min(signed_at) filter (where revoked_at is null) over (
                partition by subscription_key, transaction_id order by signed_at, digest
                rows between 1 following and unbounded following
            ) as restored_at
        from (
            select
                version.*,
                max(version.source_rank) over (
                    partition by version.subscription_key, version.transaction_id
                ) as best_rank
            from version
        ) as ranked
        where source_rank = best_rank and stated & (1 << 11) <> 0
    ) as said
    where revoked_at is not null
),

judged as (
    select
        effective.*,
        case
            when effective.ownership = 'family_shared' then 'family'
            when effective.type in ('consumable', 'non_consumable', 'non_renewing') then 'one_time'
            else 'own'
        end as class,
        -- Unknown is neither free nor paid.
        coalesce(effective.offer_discount = 'free_trial', false)
        or coalesce(effective.price = 0 and effective.offer_type is not null, false) as is_free,
        coalesce(effective.price > 0, false) as is_paid,
        -- One that is empty or runs backwards is none: it is a charge, and gives and ends no access.
        coalesce(effective.expires_at > effective.purchased_at, true)
        and not exists (
            select from revocation
            where
                revocation.subscription_key = effective.subscription_key
                and revocation.transaction_id = effective.transaction_id
                and revocation.revoked_at <= effective.purchased_at
        ) as is_period
    from effective
    where effective.purchased_at is not null
),

line as materialized (
    select
        *,
        row_number() over (
            partition by subscription_key, class, is_period order by purchased_at, transaction_id
        ) as nth,
        count(*) filter (where is_period) over (
            partition by subscription_key, class order by purchased_at
            groups between unbounded preceding and 1 preceding
        ) as periods_before
    from judged
),

-- The store's word about each period.
newest as (
    -- Of several statuses of one moment the best source's counts, then the one with the greater digest.
    select distinct on (renewal.subscription_key, renewal.signed_at)
        renewal.*,
        coalesce(renewal.in_billing_retry, false) or renewal.grace_expires_at is not null as is_failure
    from fact.renewal as renewal
    where renewal.subscription_key in (select keys.subscription_key from keys)
    order by renewal.subscription_key, renewal.signed_at, renewal.source_rank desc, renewal.digest desc
),

status as (
    -- A failure speaks about the last period that had ended or was about to, all else about the last one bought.
    select distinct on (newest.subscription_key, newest.signed_at)
        newest.*,
        line.transaction_id,
        newest.expiration_reason is not null and not coalesce(newest.in_billing_retry, false) as is_expiry
    from newest
    inner join line
        on
            line.subscription_key = newest.subscription_key
            and line.purchased_at <= newest.signed_at
            and line.class <> 'one_time'
            and coalesce(line.expires_at > line.purchased_at, true)
            and (not newest.is_failure or line.expires_at <= newest.signed_at + interval '24 hours')
    order by newest.subscription_key, newest.signed_at, line.purchased_at desc, line.transaction_id desc
),

-- Once a better source has spoken of a period, what a lesser one says of it later is not heard.
heard as (
    select
        *,
        max(source_rank) over (partition by subscription_key, transaction_id order by signed_at) as best_rank
    from status
),

spoken as (
    select
        *,
        max(signed_at) filter (where not is_expiry) over (
            partition by subscription_key, transaction_id
        ) as other_said_at
    from heard
    where source_rank = best_rank
),

word as materialized (
    select
        subscription_key,
        transaction_id,
        (array_agg(auto_renew order by signed_at desc) filter (where stated & (1 << 0) <> 0))[1] as auto_renew,
        (array_agg(expiration_reason order by signed_at desc) filter (where stated & (1 << 4) <> 0))[1]
            as expiration_reason,
        bool_or(is_failure) as is_failed,
        (array_agg(grace_expires_at order by signed_at desc) filter (where grace_expires_at is not null))[1]
            as grace_expires_at,
        -- The store says expired from the first of the newest statuses that all say so.
        min(signed_at) filter (where is_expiry and signed_at > coalesce(other_said_at, '-infinity')) as expired_said_at,
        (array_agg(paused_at order by signed_at desc) filter (where stated & (1 << 7) <> 0))[1] as paused_at,
        (array_agg(resumes_at order by signed_at desc) filter (where stated & (1 << 8) <> 0))[1] as resumes_at
    from spoken
    group by subscription_key, transaction_id
),

-- Each transaction with the period before it.
followed as (
    select
        line.subscription_key,
        line.transaction_id,
        line.nth,
        line.is_period,
        line.is_free,
        line.purchased_at,
        line.product_id,
        line.reason,
        line.offer_type,
        before.transaction_id as previous_id,
        before.purchased_at as previous_purchased_at,
        before.product_id as previous_product_id,
        before.expires_at,
        coalesce(word.is_failed, false) as is_failed,
        case when word.grace_expires_at > before.expires_at then word.grace_expires_at end as grace_expires_at,
        word.auto_renew,
        word.expiration_reason,
        word.expired_said_at,
        -- A pause that is over before it begins is none.
        case
            when
                word.paused_at between before.purchased_at and before.expires_at
                and not coalesce(word.resumes_at <= word.paused_at, false)
                then word.paused_at
        end as paused_at
    from line
    left join line as before
        on
            before.subscription_key = line.subscription_key
            and before.class = line.class
            and before.is_period
            and before.nth = line.periods_before
    left join word on word.subscription_key = before.subscription_key and word.transaction_id = before.transaction_id
    -- Nearly all of them are; the same reason as above.
    where coalesce(line.class = 'own', false)
),

-- What became of that period: null where its end is not known.
fated as (
    select
        *,
        case
            -- A refund that was taken back before the period's end left access as it was.
            when exists (
                select from revocation
                where
                    revocation.subscription_key = followed.subscription_key
                    and revocation.transaction_id = followed.previous_id
                    and revocation.revoked_at < least(followed.expires_at, followed.purchased_at, followed.paused_at)
                    and coalesce(
                        revocation.restored_at >= least(followed.expires_at, followed.purchased_at, followed.paused_at),
                        true
                    )
            ) then 'withdrawn'
            when paused_at < purchased_at then 'paused'
            when expires_at is null then null
            when purchased_at <= expires_at then 'continued'
            when is_failed and purchased_at <= grace_expires_at then 'continued'
            when is_failed then 'failed'
            when not auto_renew or expiration_reason is not null then 'ended'
            when purchased_at < expires_at + make_interval(secs => $4) and coalesce(reason, 'renewal') <> 'purchase'
                then 'continued'
            -- A renewal after a gap without word shows that a charge had failed.
            when reason = 'renewal' then 'failed'
            else 'ended'
        end as fate
    from followed
),

step as materialized (
    select
        *,
        -- Retry is open from the loss of access until the store says expired, at most 60 days.
        coalesce(
            fate = 'failed'
            and least(expired_said_at, expires_at + interval '60 days')
            > greatest(coalesce(grace_expires_at, expires_at), purchased_at),
            false
        ) as is_in_retry,
        previous_id is not null and coalesce(fate = 'continued', true) as is_continuing
    from fated
),

-- A free period that follows another without a gap is of its kind: a trial, or the paid time before it. So the last one
-- at or before it that is paid or begins anew decides.
course as materialized (
    select
        subscription_key,
        transaction_id,
        mod(
            max(case when not is_free or not is_continuing then nth * 2 + is_free::integer end) over periods, 2
        ) = 1 as is_trial,
        bool_or(not is_free) over periods as has_paid
    from step
    where is_period
    window periods as (
        partition by subscription_key order by purchased_at, transaction_id
        rows between unbounded preceding and current row
    )
),

-- The kind of each charge; null where the facts do not tell.
charge as materialized (
    select
        step.subscription_key,
        step.transaction_id,
        case
            when step.is_free or step.fate is null then null
            when course.is_trial and (step.fate in ('continued', 'paused') or step.is_in_retry) then 'trial_converted'
            when not course.has_paid then 'subscription_started'
            when step.fate not in ('continued', 'paused')
                then
                    case
                        when step.fate <> 'withdrawn' and (step.is_in_retry or step.reason = 'renewal')
                            then 'billing_recovered'
                        when step.offer_type = 'win_back' then 'win_back'
                        else 'subscription_reactivated'
                    end
            when step.product_id <> step.previous_product_id then 'product_changed'
            when step.fate = 'continued' and step.is_failed and step.purchased_at >= step.expires_at
                then 'billing_recovered'
            else 'subscription_renewed'
        end as kind,
        step.previous_id
    from step
    left join course on course.subscription_key = step.subscription_key and course.transaction_id = step.previous_id
),

-- The period an event is about: its transaction's, else the one that ran when it happened.
concerned as materialized (
    select distinct on (best.delivery_id)
        best.delivery_id,
        line.*
    from best
    inner join line
        on
            line.subscription_key = best.subscription_key
            and case
                when best.transaction_id is null then line.purchased_at <= best.occurred_at
                else line.transaction_id = best.transaction_id
            end
    order by best.delivery_id, line.purchased_at desc, line.transaction_id desc
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
        best.settled_kind,
        best.settled_direction,
        best.is_charge,
        coalesce(best.body -> 'transaction' ->> 'product_id', concerned.product_id) as product_id,
        best.body -> 'renewal' ->> 'auto_renew_product_id' as next_product_id,
        concerned.subscription_key,
        concerned.transaction_id,
        concerned.purchased_at,
        charge.previous_id,
        coalesce(best.settled_kind, case
            when best.is_charge and best.kind in ('non_renewing_purchase', 'consumable_purchase') then best.kind
            when best.is_charge and charge.kind is not null
                then
                    case
                        -- The first full price after a paid offer is a renewal that a source may tell more of.
                        when charge.kind = 'subscription_renewed' and best.kind = 'offer_converted' then best.kind
                        else charge.kind
                    end
            -- Nothing is known of what came before: only a purchase is no renewal, nor the other way round.
            when best.is_charge and concerned.class = 'own' and not concerned.is_free and charge.previous_id is null
                then
                    case
                        when best.kind = 'subscription_renewed' and concerned.reason = 'purchase'
                            then 'subscription_started'
                        when best.kind = 'subscription_started' and concerned.reason = 'renewal'
                            then 'subscription_renewed'
                        else best.kind
                    end
            when best.kind = 'subscription_renewed' and before.is_free and not concerned.is_free then 'trial_converted'
            when best.kind = 'trial_converted' and before.is_paid then 'subscription_renewed'
            when best.kind = 'subscription_expired' and concerned.is_free then 'trial_expired'
            when best.kind = 'trial_expired' and concerned.is_paid then 'subscription_expired'
            when best.kind = 'auto_renew_disabled' and concerned.is_free then 'trial_cancelled'
            when best.kind = 'trial_cancelled' and concerned.is_paid then 'auto_renew_disabled'
            else best.kind
        end) as kind
    from best
    left join concerned on concerned.delivery_id = best.delivery_id
    left join charge
        on
            charge.subscription_key = concerned.subscription_key
            and charge.transaction_id = concerned.transaction_id
    left join line as before
        on before.subscription_key = concerned.subscription_key and before.transaction_id = charge.previous_id
),

-- What a product's period costs in a month, paid up front spread over the offer's length.
monthly as (
    select
        line.subscription_key,
        line.transaction_id,
        line.currency,
        product.level,
        ledger.monthly_price(
            case when line.is_free then 0 else line.price end,
            coalesce(
                case when line.offer_discount = 'pay_up_front' then line.offer_period end,
                line.period,
                product.period,
                ledger.usual_length((extract(epoch from line.expires_at - line.purchased_at) / 86400)::numeric)
            ),
            coalesce(
                (select book.settings ->> 'mrr_factors' from measure.book as book order by book.book_id desc limit 1),
                'calendar'
            )
        ) as price
    from line
    inner join fact.chain as chain on chain.subscription_key = line.subscription_key
    left join reference.product as product on product.app_id = chain.app_id and product.product_id = line.product_id
)

select
    settled.delivery_id,
    settled.target,
    settled.source,
    settled.event_id,
    settled.kind,
    settled.body,
    settled.product_id,
    settled.purchased_at,
    product.name as product_name,
    product.period as product_period,
    listed.price as list_price,
    listed.currency as list_currency,
    nullif(settled.next_product_id, settled.product_id) as next_product_id,
    next_product.name as next_product_name,
    app.app_key,
    forward.accepts(target.events, settled.kind || settled.also) as is_wanted,
    -- Of an immediate change of product: by level, 1 being the highest, else by what it costs in a month, else as the
    -- source has it.
    case
        when settled.settled_kind is not null then settled.settled_direction
        when settled.kind <> 'product_changed' or not settled.is_charge or settled.previous_id is null then null
        when monthly.level < previous.level then 'upgrade'
        when monthly.level > previous.level then 'downgrade'
        when monthly.level = previous.level then 'crossgrade'
        when monthly.currency = previous.currency and monthly.price > previous.price then 'upgrade'
        when monthly.currency = previous.currency and monthly.price < previous.price then 'downgrade'
        when monthly.currency = previous.currency and monthly.price = previous.price then 'crossgrade'
        when settled.body -> 'detail' ->> 'direction' in ('upgrade', 'downgrade')
            then settled.body -> 'detail' ->> 'direction'
        else 'crossgrade'
    end as direction
from settled
inner join ingest.app as app on app.app_id = settled.app_id
inner join forward.target as target on target.name = settled.target
left join reference.product as product
    on product.app_id = settled.app_id and product.product_id = settled.product_id
left join reference.product as next_product
    on next_product.app_id = settled.app_id and next_product.product_id = settled.next_product_id
left join monthly
    on monthly.subscription_key = settled.subscription_key and monthly.transaction_id = settled.transaction_id
left join monthly as previous
    on previous.subscription_key = settled.subscription_key and previous.transaction_id = settled.previous_id
-- The price in the storefront's own currency; the one without a country is in whatever currency the catalogue has.
left join lateral (
    select
        price.price,
        price.currency
    from reference.product_price as price
    where
        price.app_id = settled.app_id
        and price.product_id = settled.product_id
        and price.currency is not null
        and price.country in (settled.body -> 'transaction' ->> 'country', '')
    order by price.country desc
    limit 1
) as listed on true
union all
-- A digest says what it said when it was made.
select
    picked.delivery_id,
    picked.target,
    picked.source,
    picked.event_id,
    'daily_digest' as kind,
    digest.body,
    null as product_id,
    null as purchased_at,
    null as product_name,
    null as product_period,
    null as list_price,
    null as list_currency,
    null as next_product_id,
    null as next_product_name,
    digest.body ->> 'app' as app_key,
    true as is_wanted,
    null as direction
from picked
inner join forward.digest as digest
    on digest.target = picked.target and digest.event_id = picked.event_id
where picked.source = 'measure'
