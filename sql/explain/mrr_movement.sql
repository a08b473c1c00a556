-- What moved the MRR of the day.
select
    entry_id,
    run_id,
    is_standing,
    at,
    happened,
    subscription_key,
    transaction_id,
    product_id,
    country,
    currency,
    sum(amount) filter (where movement = 'new') as new,
    sum(amount) filter (where movement = 'reactivation') as reactivation,
    sum(amount) filter (where movement = 'expansion') as expansion,
    sum(amount) filter (where movement = 'contraction') as contraction,
    sum(amount) filter (where movement = 'churn') as churn,
    sum(amount) filter (where movement = 'suspension') as suspension,
    sum(amount) filter (where movement = 'recovery') as recovery,
    sum(amount) filter (where movement = 'moved_in') as moved_in,
    sum(amount) filter (where movement = 'moved_out') as moved_out
from mrr_leg
where at >= (select starts_at from asked) and at < (select ends_at from asked)
group by
    entry_id, run_id, is_standing, at, happened, subscription_key, transaction_id, product_id, country, currency;
