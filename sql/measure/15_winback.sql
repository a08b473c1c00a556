-- When lines that ever paid became eligible for each win-back offer of their app, and whether they came back: of the lines that
-- were settled, and of all where offers have changed. What is to come without a new fact, such as the months to be away, is
-- known now and counts once its time has come.
create temp table changed_offer on commit drop as
select coalesce(wanted.app_id, stored.app_id) as app_id
from reference.winback_offer as wanted
full join ledger.winback_offer as stored using (app_id, offer_id)
where wanted is distinct from stored;

delete from ledger.winback_offer where exists (select from changed_offer);

insert into ledger.winback_offer
select *
from reference.winback_offer
where exists (select from changed_offer);

create temp table winback_chain on commit drop as
with line as (
    select chain.line_key
    from settling
    inner join ledger.chain as chain using (subscription_key)
    where not (select is_summed_anew from this_run)
    union
    select chain.line_key
    from ledger.chain as chain
    inner join fact.chain as identity using (subscription_key)
    where
        (select is_summed_anew from this_run)
        or identity.app_id in (select changed_offer.app_id from changed_offer)
)

select
    chain.subscription_key,
    chain.line_key
from line
inner join ledger.chain as chain using (line_key)
where exists (select from reference.winback_offer) or exists (select from ledger.winback);

create index on winback_chain (subscription_key);
analyze winback_chain;

create temp table winback_now on commit drop as
-- A time without access, from its loss to the next period. Retry that is open is no such time yet: it is settled when it ends.
with away as (
    select
        winback_chain.line_key,
        identity.app_id,
        period.subscription_key,
        period.purchased_at,
        period.transaction_id,
        period.product_id,
        period.country,
        period.closed_at,
        period.retry_ends_at,
        ledger.paid_months(
            period.months_before,
            period.rest_before,
            period.stretch_started_at,
            least(period.expires_at, period.closed_at)
        ) as paid_months,
        next_period.purchased_at as next_at,
        next_period.offer as next_offer,
        next_period.offer_id as next_offer_id,
        next_period.class as next_class
    from winback_chain
    inner join fact.chain as identity using (subscription_key)
    inner join ledger.period as period using (subscription_key)
    left join lateral (
        select later.*
        from winback_chain as sibling
        inner join ledger.period as later on sibling.subscription_key = later.subscription_key
        where
            sibling.line_key = winback_chain.line_key
            and later.class <> 'one_time'
            and not later.is_empty
            and later.purchased_at > period.purchased_at
        order by later.purchased_at
        limit 1
    ) as next_period on true
    where
        period.class = 'own'
        and not period.is_empty
        and period.first_paid_at is not null
        and period.closing <> 'continued'
        and not coalesce(period.retry_ends_at >= (select as_of from this_run), false)
),

-- Of several statuses of one moment the best source's word counts.
word as (
    select
        renewal.subscription_key,
        renewal.signed_at,
        (
            array_agg(renewal.auto_renew order by renewal.source_rank desc, renewal.digest desc)
            filter (where renewal.auto_renew is not null)
        )[1] as auto_renew,
        bool_or(renewal.stated & (1 << 10) <> 0) as has_list,
        (
            array_agg(
                to_jsonb(renewal.eligible_win_back_offers) order by renewal.source_rank desc, renewal.digest desc
            )
            filter (where renewal.stated & (1 << 10) <> 0)
        )[1] as listed
    from (select distinct subscription_key from away) as chain
    inner join fact.renewal as renewal using (subscription_key)
    where renewal.signed_at < (select as_of from this_run)
    group by renewal.subscription_key, renewal.signed_at
),

carried as (
    select
        *,
        count(auto_renew) over words as auto_renew_nth,
        count(*) filter (where has_list) over words as list_nth,
        lead(signed_at, 1, 'infinity') over words as next_at
    from word
    window words as (partition by subscription_key order by signed_at)
),

-- What is known of a chain from one status to the next; before the first one nothing is.
known as (
    select
        subscription_key,
        signed_at as from_at,
        next_at as until_at,
        coalesce(bool_or(auto_renew) over (partition by subscription_key, auto_renew_nth), false) as auto_renew,
        first_value(listed) over (partition by subscription_key, list_nth order by signed_at) as listed
    from carried
    union all
    select
        away.subscription_key,
        '-infinity',
        coalesce(min(word.signed_at), 'infinity'),
        false,
        null
    from away
    left join word using (subscription_key)
    group by away.subscription_key
),

offered as (
    select
        away.*,
        offer.offer_id,
        offer.min_paid_months,
        offer.starts_on::timestamp at time zone this_run.zone as starts_at,
        (offer.ends_on + 1)::timestamp at time zone this_run.zone as ends_at,
        ((away.closed_at at time zone 'UTC') + make_interval(months => offer.min_months_since)) at time zone 'UTC'
            as long_enough_at,
        ((away.closed_at at time zone 'UTC') + make_interval(months => offer.max_months_since + 1)) at time zone 'UTC'
            as too_long_at,
        ((used.last_used_at at time zone 'UTC') + make_interval(months => offer.wait_months)) at time zone 'UTC'
            as waited_at
    from away
    cross join this_run
    inner join reference.winback_offer as offer
        on
            away.app_id = offer.app_id
            and (offer.territories is null or away.country = any(offer.territories))
            and (offer.product_ids is null or away.product_id = any(offer.product_ids))
    left join lateral (
        select max(least(earlier.expires_at, earlier.closed_at)) as last_used_at
        from winback_chain as sibling
        inner join ledger.period as earlier on sibling.subscription_key = earlier.subscription_key
        where
            sibling.line_key = away.line_key
            and earlier.offer = 'win_back'
            and earlier.offer_id = offer.offer_id
            and earlier.purchased_at <= away.purchased_at
    ) as used on true
),

-- The months that are counted are at their bound already, everything else happens at a moment and is so after it.
eligible as (
    select
        offered.*,
        greatest(offered.closed_at, offered.retry_ends_at, offered.starts_at, known.from_at) as happened_at,
        case when known.listed is null then greatest(offered.long_enough_at, offered.waited_at) end as counted_at,
        least(
            offered.next_at,
            offered.ends_at,
            known.until_at,
            case when known.listed is null then offered.too_long_at end
        ) as until_at
    from offered
    inner join known
        on
            offered.subscription_key = known.subscription_key
            and known.until_at > offered.closed_at
            and (offered.next_at is null or known.from_at < offered.next_at)
    where
        not known.auto_renew
        and case
            when known.listed is null then offered.paid_months >= coalesce(offered.min_paid_months, 0)
            else known.listed @> to_jsonb(offered.offer_id)
        end
),

-- What goes on under another word does not begin anew.
began as (
    select
        *,
        greatest(happened_at, counted_at) as eligible_at,
        lag(until_at) over (
            partition by subscription_key, purchased_at, transaction_id, offer_id order by happened_at
        ) as until_before
    from eligible
    where greatest(happened_at, counted_at) < until_at
)

select
    subscription_key,
    offer_id,
    eligible_at,
    greatest(happened_at, counted_at - interval '1 microsecond') as due_at,
    product_id,
    country,
    case when next_class = 'own' then next_at end as back_at,
    coalesce(next_class = 'own' and next_offer = 'win_back' and next_offer_id = offer_id, false) as is_back_with_offer
from began
where until_before is null or until_before < eligible_at;

analyze winback_now;

-- What is no longer so is taken back, with the event that told of it.
with untrue as (
    delete from ledger.winback as stored
    using winback_chain
    where
        stored.subscription_key = winback_chain.subscription_key
        and not exists (
            select
            from winback_now
            where
                winback_now.subscription_key = stored.subscription_key
                and winback_now.offer_id = stored.offer_id
                and winback_now.eligible_at = stored.eligible_at
                and winback_now.due_at = stored.due_at
                and (winback_now.product_id is not distinct from stored.product_id)
                and (winback_now.country is not distinct from stored.country)
        )
    returning stored.*
)

delete from ingest.event
using untrue
where
    untrue.is_told
    and event.subscription_key = untrue.subscription_key
    and event.source = 'measure'
    and event.kind = 'winback_eligible'
    and event.occurred_at = untrue.eligible_at
    and event.body -> 'detail' ->> 'offer_id' = untrue.offer_id;

insert into ledger.winback as stored (
    subscription_key, offer_id, eligible_at, due_at, product_id, country, back_at, is_back_with_offer
)
select
    subscription_key,
    offer_id,
    eligible_at,
    due_at,
    product_id,
    country,
    back_at,
    is_back_with_offer
from winback_now
on conflict (subscription_key, offer_id, eligible_at) do update set
    back_at = excluded.back_at,
    is_back_with_offer = excluded.is_back_with_offer
where
    (stored.back_at, stored.is_back_with_offer)
    is distinct from (excluded.back_at, excluded.is_back_with_offer);
