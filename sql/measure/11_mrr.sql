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
        ledger.monthly_price(
            moving.price,
            coalesce(moving.period, product.period, ledger.usual_length(moving.days)),
            moving.mrr_factors
        ) as mrr,
        ledger.monthly_price(
            moving.from_price,
            coalesce(moving.from_period, from_product.period, ledger.usual_length(moving.from_days)),
            moving.mrr_factors
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
    sign,
    case
        when kind in ('renewed', 'product_changed') then 'changed'
        when kind in ('new', 'trial_converted') then 'new'
        when kind in ('reactivated', 'won_back', 'refund_reversed') then 'reactivation'
        when kind in ('recovered', 'resumed') then 'recovery'
        when kind in ('suspended', 'paused') then 'suspension'
        else 'churn'
    end as kind,
    mrr,
    from_mrr,
    case when mrr is not null then reference.converted(mrr, per_euro, wanted_per_euro) end as converted,
    case when from_mrr is not null then reference.converted(from_mrr, from_per_euro, from_wanted_per_euro) end
    as from_converted,
    -- What is free may name no currency: it is in that of what it comes from or goes to.
    case
        when mrr is not null
            then coalesce(price_currency, case when kind in ('renewed', 'product_changed') then from_currency end, '')
        else ''
    end as currency,
    case
        when from_mrr is not null
            then coalesce(from_currency, case when kind in ('renewed', 'product_changed') then price_currency end, '')
        else ''
    end as from_currency
from monthly;

create temp view daily_mrr_contribution as
with leg as (
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        currency,
        day,
        sign,
        kind,
        coalesce(mrr, 0) as amount,
        (mrr is null)::integer as unpriced,
        coalesce(converted, 0) as converted,
        (mrr is not null and converted is null)::integer as unconverted
    from mrr_move
    where kind in ('new', 'reactivation', 'recovery')
    union all
    select
        app_id,
        environment,
        store,
        from_product_id,
        from_country,
        from_currency,
        day,
        sign,
        kind,
        -coalesce(from_mrr, 0),
        -(from_mrr is null)::integer,
        -coalesce(from_converted, 0),
        -(from_mrr is not null and from_converted is null)::integer
    from mrr_move
    where kind in ('suspension', 'churn')
    union all
    -- A change of product or country moves the old MRR to the new row; a change of currency moves the old out and the
    -- new in.
    select
        app_id,
        environment,
        store,
        from_product_id,
        from_country,
        from_currency,
        day,
        sign,
        'moved_out',
        -coalesce(from_mrr, 0),
        -(from_mrr is null)::integer,
        0,
        0
    from mrr_move
    where
        kind = 'changed'
        and (product_id, country, currency, mrr is null)
        is distinct from (from_product_id, from_country, from_currency, from_mrr is null)
    union all
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        currency,
        day,
        sign,
        'moved_in',
        case when currency = from_currency then coalesce(from_mrr, 0) else coalesce(mrr, 0) end,
        (mrr is null)::integer,
        0,
        0
    from mrr_move
    where
        kind = 'changed'
        and (product_id, country, currency, mrr is null)
        is distinct from (from_product_id, from_country, from_currency, from_mrr is null)
    union all
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        currency,
        day,
        sign,
        case when mrr > from_mrr then 'expansion' else 'contraction' end,
        mrr - from_mrr,
        0,
        0,
        0
    from mrr_move
    where kind = 'changed' and currency = from_currency and mrr <> from_mrr
    union all
    -- Converted at the rate of another day, what goes on is another amount.
    select
        app_id,
        environment,
        store,
        from_product_id,
        from_country,
        from_currency,
        day,
        sign,
        'reconverted',
        0,
        0,
        -coalesce(from_converted, 0),
        -(from_mrr is not null and from_converted is null)::integer
    from mrr_move
    where kind = 'changed'
    union all
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        currency,
        day,
        sign,
        'reconverted',
        0,
        0,
        coalesce(converted, 0),
        (mrr is not null and converted is null)::integer
    from mrr_move
    where kind = 'changed'
)

select
    app_id,
    environment,
    store,
    product_id,
    country,
    currency,
    day,
    coalesce(sum(sign * amount) filter (where kind = 'new'), 0) as new,
    coalesce(sum(sign * amount) filter (where kind = 'reactivation'), 0) as reactivation,
    coalesce(sum(sign * amount) filter (where kind = 'expansion'), 0) as expansion,
    coalesce(sum(sign * amount) filter (where kind = 'contraction'), 0) as contraction,
    coalesce(sum(sign * amount) filter (where kind = 'churn'), 0) as churn,
    coalesce(sum(sign * amount) filter (where kind = 'suspension'), 0) as suspension,
    coalesce(sum(sign * amount) filter (where kind = 'recovery'), 0) as recovery,
    coalesce(sum(sign * amount) filter (where kind = 'moved_in'), 0) as moved_in,
    coalesce(sum(sign * amount) filter (where kind = 'moved_out'), 0) as moved_out,
    sum(sign * amount) as mrr,
    sum(sign * unpriced) as unpriced,
    sum(sign * converted) as converted,
    sum(sign * unconverted) as unconverted
from leg
group by app_id, environment, store, product_id, country, currency, day;

call measure.post('daily_mrr');

create temp view monthly_mrr_contribution as
select
    app_id,
    environment,
    store,
    product_id,
    country,
    currency,
    date_trunc('month', day)::date as month,
    mrr,
    unpriced,
    converted,
    unconverted
from daily_mrr_difference;

call measure.post_closings('monthly_mrr');
