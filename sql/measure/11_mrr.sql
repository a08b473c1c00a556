-- Brings the daily MRR up to date: what each entry moves in and out of the rows of product, country and currency. A period
-- of unknown price belongs to no currency: it is counted, and its MRR is nobody's.
create temp table mrr_move on commit drop as
with moving as (
    select
        chain.app_id,
        chain.environment,
        chain.store,
        entry.*,
        (entry.at at time zone this_run.zone)::date as day,
        this_run.mrr_factors,
        this_run.zone
    from totalled as entry
    inner join fact.chain as chain using (subscription_key)
    cross join this_run
    -- What leaves for another row or chain is told by what enters there. Most renewals change nothing.
    where
        entry.active <> 0 and entry.kind not in ('moved_out', 'handed_over')
        or entry.kind in ('renewed', 'product_changed')
        and (entry.price, entry.price_currency, entry.period, entry.days)
        is distinct from (entry.from_price, entry.from_currency, entry.from_period, entry.from_days)
        -- The same price of another day converts at another rate.
        or entry.kind in ('renewed', 'product_changed') and entry.price <> 0
        and (entry.price_currency is distinct from this_run.currency)
),

monthly as (
    select
        moving.*,
        measure.monthly_price(moving.price, moving.period, product.period, moving.days, moving.mrr_factors) as mrr,
        measure.monthly_price(
            moving.from_price, moving.from_period, from_product.period, moving.from_days, moving.mrr_factors
        ) as from_mrr,
        conversion.per_euro,
        conversion.wanted_per_euro,
        from_conversion.per_euro as from_per_euro,
        from_conversion.wanted_per_euro as from_wanted_per_euro
    from moving
    left join reference.product as product
        on moving.app_id = product.app_id and moving.product_id = product.product_id
    left join reference.product as from_product
        on moving.app_id = from_product.app_id and moving.from_product_id = from_product.product_id
    left join conversion
        on
            moving.is_before = conversion.is_before
            and moving.price_currency = conversion.currency
            and (moving.purchased_at at time zone moving.zone)::date = conversion.day
    left join conversion as from_conversion
        on
            moving.is_before = from_conversion.is_before
            and moving.from_currency = from_conversion.currency
            and (coalesce(moving.from_purchased_at, moving.purchased_at) at time zone moving.zone)::date
            = from_conversion.day
)

select
    app_id,
    environment,
    store,
    coalesce(product_id, '') as product_id,
    coalesce(country, '') as country,
    coalesce(from_product_id, '') as from_product_id,
    coalesce(from_country, '') as from_country,
    day,
    sign * turn as sign,
    measure.mrr_movement(kind) as movement,
    mrr,
    from_mrr,
    case when mrr is not null then reference.converted(mrr, per_euro, wanted_per_euro) end as converted,
    case when from_mrr is not null then reference.converted(from_mrr, from_per_euro, from_wanted_per_euro) end
    as from_converted,
    measure.mrr_currency(mrr, price_currency, measure.mrr_movement(kind), from_currency) as currency,
    measure.mrr_currency(from_mrr, from_currency, measure.mrr_movement(kind), price_currency) as from_currency
from monthly;
