-- What each entry moves of MRR, one row per leg, as runs take them. Legs of nothing tell which entry a running period is of.
with moving as (
    select
        entry.*,
        chain.app_id,
        measure.mrr_movement(entry.kind) as movement
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
        case
            when monthly.mrr is not null
                then reference.converted(monthly.mrr, worth.per_euro, worth.wanted_per_euro)
        end as converted,
        case
            when monthly.from_mrr is not null
                then reference.converted(monthly.from_mrr, from_worth.per_euro, from_worth.wanted_per_euro)
        end as from_converted,
        reference.rate_of(worth.per_euro, worth.wanted_per_euro) as exchange_rate
    from moving
    cross join asked
    left join reference.product as product
        on moving.app_id = product.app_id and moving.product_id = product.product_id
    left join reference.product as from_product
        on moving.app_id = from_product.app_id and moving.from_product_id = from_product.product_id
    -- "offset 0" has it computed once.
    cross join lateral (
        select
            measure.monthly_price(
                moving.price, moving.period, product.period, moving.days, factors.mrr_factors
            ) as mrr,
            measure.monthly_price(
                moving.from_price, moving.from_period, from_product.period, moving.from_days, factors.mrr_factors
            ) as from_mrr
        from asked as factors
        offset 0
    ) as monthly
    cross join lateral reference.known_conversion(
        moving.price_currency, asked.currency, (moving.purchased_at at time zone asked.zone)::date
    ) as worth
    cross join lateral reference.known_conversion(
        moving.from_currency,
        asked.currency,
        (coalesce(moving.from_purchased_at, moving.purchased_at) at time zone asked.zone)::date
    ) as from_worth
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
    placed.exchange_rate,
    nullif(moved.in_product_id, '') as product_id,
    nullif(moved.in_country, '') as country,
    nullif(moved.in_currency, '') as currency,
    moved.leg as movement,
    placed.sign * moved.amount * 0.000001 as amount,
    placed.sign * moved.unpriced as unpriced,
    placed.sign * moved.amount_converted * 0.000001 as converted
from placed
cross join lateral (
    with mrr_move as materialized (
        select
            placed.movement,
            placed.mrr,
            placed.from_mrr,
            placed.converted,
            placed.from_converted,
            coalesce(placed.product_id, '') as product_id,
            coalesce(placed.country, '') as country,
            coalesce(placed.from_product_id, '') as from_product_id,
            coalesce(placed.from_country, '') as from_country,
            measure.mrr_currency(placed.mrr, placed.price_currency, placed.movement, placed.from_currency) as currency,
            measure.mrr_currency(placed.from_mrr, placed.from_currency, placed.movement, placed.price_currency)
                as from_currency
    )

    select * from step.mrr_leg
) as moved;
