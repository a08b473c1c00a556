-- What each move of mrr_move adds to the rows of product, country and currency: it leaves one, enters one, or changes one. One
-- leg after the other, each reading all moves: beside each other they would cost twice as much. Explanations read the same.
-- mrr_move names with from_ what is left; unknown product, country and currency are empty texts.
select
    mrr_move.*,
    product_id as in_product_id,
    country as in_country,
    currency as in_currency,
    movement as leg,
    coalesce(mrr, 0) as amount,
    (mrr is null)::integer as unpriced,
    coalesce(converted, 0) as amount_converted,
    (mrr is not null and converted is null)::integer as unconverted
from mrr_move
where movement in ('new', 'reactivation', 'recovery')
union all
select
    mrr_move.*,
    from_product_id,
    from_country,
    from_currency,
    movement,
    -coalesce(from_mrr, 0),
    -(from_mrr is null)::integer,
    -coalesce(from_converted, 0),
    -(from_mrr is not null and from_converted is null)::integer
from mrr_move
where movement in ('suspension', 'churn')
union all
-- A change of product or country moves the old MRR to the new row; a change of currency moves the old out and the new in.
select
    mrr_move.*,
    from_product_id,
    from_country,
    from_currency,
    'moved_out',
    -coalesce(from_mrr, 0),
    -(from_mrr is null)::integer,
    0,
    0
from mrr_move
where
    movement = 'changed'
    and (product_id, country, currency, mrr is null)
    is distinct from (from_product_id, from_country, from_currency, from_mrr is null)
union all
select
    mrr_move.*,
    product_id,
    country,
    currency,
    'moved_in',
    case when currency = from_currency then coalesce(from_mrr, 0) else coalesce(mrr, 0) end,
    (mrr is null)::integer,
    0,
    0
from mrr_move
where
    movement = 'changed'
    and (product_id, country, currency, mrr is null)
    is distinct from (from_product_id, from_country, from_currency, from_mrr is null)
union all
select
    mrr_move.*,
    product_id,
    country,
    currency,
    case when mrr > from_mrr then 'expansion' else 'contraction' end,
    mrr - from_mrr,
    0,
    0,
    0
from mrr_move
where movement = 'changed' and currency = from_currency and mrr <> from_mrr
union all
-- Converted at the rate of another day, what goes on is another amount.
select
    mrr_move.*,
    from_product_id,
    from_country,
    from_currency,
    'reconverted',
    0,
    0,
    -coalesce(from_converted, 0),
    -(from_mrr is not null and from_converted is null)::integer
from mrr_move
where movement = 'changed'
union all
select
    mrr_move.*,
    product_id,
    country,
    currency,
    'reconverted',
    0,
    0,
    coalesce(converted, 0),
    (mrr is not null and converted is null)::integer
from mrr_move
where movement = 'changed';
