-- Chains at the end of the day, each in the row it stands in, and of every stock the entry that put it there or kept it
-- there last. With all entries wanted: every one that came to that row or left it.
with stock as (
    select
        subscription_key,
        product_id,
        country,
        offer,
        sum(sign * active) as active,
        sum(sign * trial) as trial,
        sum(sign * grace) as grace,
        sum(sign * retry) as retry,
        sum(sign * set_to_cancel) as set_to_cancel,
        sum(sign * paused) as paused,
        sum(sign * family) as family
    from ledger.entry
    where at < (select ends_at from asked)
    group by subscription_key, product_id, country, offer
    having
        sum(sign * active) <> 0
        or sum(sign * trial) <> 0
        or sum(sign * grace) <> 0
        or sum(sign * retry) <> 0
        or sum(sign * set_to_cancel) <> 0
        or sum(sign * paused) <> 0
        or sum(sign * family) <> 0
),

numbered as (
    select
        his.*,
        stock.active as has_active,
        stock.trial as has_trial,
        stock.grace as has_grace,
        stock.retry as has_retry,
        stock.set_to_cancel as has_set_to_cancel,
        stock.paused as has_paused,
        stock.family as has_family,
        row_number() over (
            partition by stock.subscription_key, stock.product_id, stock.country, stock.offer
            -- At one moment a period ends before the next begins.
            order by his.at, his.purchased_at, his.transaction_id, his.part, his.run_id, his.line
        ) as nth
    from stock
    -- "offset 0" has the entries of one chain after the other looked up.
    cross join lateral (
        select entry.*
        from entry
        where
            entry.subscription_key = stock.subscription_key
            and entry.product_id is not distinct from stock.product_id
            and entry.country is not distinct from stock.country
            and entry.offer = stock.offer
            and entry.at < (select ends_at from asked)
        offset 0
    ) as his
),

placed as (
    select
        *,
        max(nth) filter (where is_standing and (active > 0 or kind in ('renewed', 'product_changed'))) over place
            as active_nth,
        max(nth) filter (where is_standing and trial > 0) over place as trial_nth,
        max(nth) filter (where is_standing and grace > 0) over place as grace_nth,
        max(nth) filter (where is_standing and retry > 0) over place as retry_nth,
        max(nth) filter (where is_standing and set_to_cancel > 0) over place as set_to_cancel_nth,
        max(nth) filter (where is_standing and paused > 0) over place as paused_nth,
        max(nth) filter (where is_standing and family > 0) over place as family_nth
    from numbered
    window place as (partition by subscription_key, product_id, country, offer)
)

select
    placed.entry_id,
    placed.run_id,
    placed.is_standing,
    placed.at,
    placed.kind as happened,
    placed.subscription_key,
    placed.transaction_id,
    placed.product_id,
    placed.country,
    placed.offer,
    case when asked.wants_all then sign * active when nth = active_nth then has_active end as active_subscriptions,
    case when asked.wants_all then sign * trial when nth = trial_nth then has_trial end as active_trials,
    case when asked.wants_all then sign * grace when nth = grace_nth then has_grace end as in_grace,
    case when asked.wants_all then sign * retry when nth = retry_nth then has_retry end as in_billing_retry,
    case when asked.wants_all then sign * set_to_cancel when nth = set_to_cancel_nth then has_set_to_cancel end
        as set_to_cancel,
    case when asked.wants_all then sign * placed.paused when nth = paused_nth then has_paused end as paused,
    case when asked.wants_all then sign * family when nth = family_nth then has_family end as family_shared
from placed
cross join asked;
