-- What each entry moves of MRR, one row per leg: out of the row it leaves, into the row it enters, and in it. Legs of
-- nothing tell which entry a running period is of.
with moving as (
    select
        entry.*,
        chain.app_id,
        case
            when entry.kind in ('renewed', 'product_changed') then 'changed'
            when entry.kind in ('new', 'trial_converted') then 'new'
            when entry.kind in ('reactivated', 'won_back', 'refund_reversed') then 'reactivation'
            when entry.kind in ('recovered', 'resumed') then 'recovery'
            when entry.kind in ('suspended', 'paused') then 'suspension'
            else 'churn'
        end as move
    from entry
    inner join fact.chain as chain using (subscription_key)
    -- What leaves for another row or chain is told by what enters there.
    where
        entry.kind in ('renewed', 'product_changed')
        or entry.active <> 0 and entry.kind not in ('moved_out', 'handed_over')
),

placed as (
    select
        moving.*,
        monthly.mrr,
        monthly.from_mrr,
        -- What is free may name no currency: it is in that of what it comes from or goes to. What has no known price is
        -- in none.
        case
            when monthly.mrr is not null
                then coalesce(moving.price_currency, case when moving.move = 'changed' then moving.from_currency end)
        end as in_currency,
        case
            when monthly.from_mrr is not null
                then coalesce(moving.from_currency, case when moving.move = 'changed' then moving.price_currency end)
        end as out_currency
    from moving
    left join reference.product as product
        on moving.app_id = product.app_id and moving.product_id = product.product_id
    left join reference.product as from_product
        on moving.app_id = from_product.app_id and moving.from_product_id = from_product.product_id
    -- "offset 0" has it computed once.
    cross join lateral (
        select
            ledger.monthly_price(
                moving.price,
                coalesce(moving.period, product.period, ledger.usual_length(moving.days)),
                asked.mrr_factors
            ) as mrr,
            ledger.monthly_price(
                moving.from_price,
                coalesce(moving.from_period, from_product.period, ledger.usual_length(moving.from_days)),
                asked.mrr_factors
            ) as from_mrr
        from asked
        offset 0
    ) as monthly
)

select
    placed.entry_id,
    placed.run_id,
    placed.is_standing,
    placed.at,
    placed.purchased_at,
    placed.part,
    placed.line,
    placed.kind as happened,
    placed.subscription_key,
    placed.transaction_id,
    leg.product_id,
    leg.country,
    leg.currency,
    leg.movement,
    placed.sign * leg.amount * 0.000001 as amount,
    placed.sign * leg.unpriced as unpriced
from placed
cross join lateral (
    -- A change of product or country moves the old MRR to the new row; a change of currency moves the old out and the new
    -- in; the rest is told where it enters.
    select
        (
            placed.product_id is distinct from placed.from_product_id
            or placed.country is distinct from placed.from_country
            or placed.in_currency is distinct from placed.out_currency
            or (placed.mrr is null) <> (placed.from_mrr is null)
        ) as is_to_other_row
) as change
cross join lateral (
    select
        placed.product_id,
        placed.country,
        placed.in_currency as currency,
        placed.move as movement,
        coalesce(placed.mrr, 0) as amount,
        (placed.mrr is null)::integer as unpriced
    where placed.move in ('new', 'reactivation', 'recovery')
    union all
    select
        placed.from_product_id,
        placed.from_country,
        placed.out_currency,
        placed.move,
        -coalesce(placed.from_mrr, 0),
        -(placed.from_mrr is null)::integer
    where placed.move in ('suspension', 'churn')
    union all
    select
        placed.from_product_id,
        placed.from_country,
        placed.out_currency,
        'moved_out',
        -coalesce(placed.from_mrr, 0),
        -(placed.from_mrr is null)::integer
    where placed.move = 'changed' and change.is_to_other_row
    union all
    select
        placed.product_id,
        placed.country,
        placed.in_currency,
        'moved_in',
        case
            when (placed.in_currency is not distinct from placed.out_currency) then coalesce(placed.from_mrr, 0)
            else coalesce(placed.mrr, 0)
        end,
        (placed.mrr is null)::integer
    where placed.move = 'changed' and change.is_to_other_row
    union all
    select
        placed.product_id,
        placed.country,
        placed.in_currency,
        case when placed.mrr > placed.from_mrr then 'expansion' else 'contraction' end,
        placed.mrr - placed.from_mrr,
        0
    where
        placed.move = 'changed'
        and (placed.in_currency is not distinct from placed.out_currency)
        and placed.mrr <> placed.from_mrr
    union all
    select
        placed.product_id,
        placed.country,
        placed.in_currency,
        'kept',
        0,
        0
    where placed.move = 'changed'
) as leg;
