-- Brings the daily MRR up to date by the legs of the moves.
create temp view daily_mrr_contribution as
select
    app_id,
    environment,
    store,
    in_product_id as product_id,
    in_country as country,
    in_currency as currency,
    day,
    coalesce(sum(sign * amount) filter (where leg = 'new'), 0) as new,
    coalesce(sum(sign * amount) filter (where leg = 'reactivation'), 0) as reactivation,
    coalesce(sum(sign * amount) filter (where leg = 'expansion'), 0) as expansion,
    coalesce(sum(sign * amount) filter (where leg = 'contraction'), 0) as contraction,
    coalesce(sum(sign * amount) filter (where leg = 'churn'), 0) as churn,
    coalesce(sum(sign * amount) filter (where leg = 'suspension'), 0) as suspension,
    coalesce(sum(sign * amount) filter (where leg = 'recovery'), 0) as recovery,
    coalesce(sum(sign * amount) filter (where leg = 'moved_in'), 0) as moved_in,
    coalesce(sum(sign * amount) filter (where leg = 'moved_out'), 0) as moved_out,
    sum(sign * amount) as mrr,
    sum(sign * unpriced) as unpriced,
    sum(sign * amount_converted) as converted,
    sum(sign * unconverted) as unconverted
from mrr_leg
group by app_id, environment, store, in_product_id, in_country, in_currency, day;

call measure.post('daily_mrr');
