-- Active chains, trials and family-shared chains counted straight from the periods that run at the as-of moment are those
-- that the totals close with, in every row.
select
    app_id,
    environment,
    store,
    product_id,
    country,
    offer,
    sum(running) as running,
    sum(closing) as closing,
    sum(running_trials) as running_trials,
    sum(closing_trials) as closing_trials,
    sum(running_family) as running_family,
    sum(closing_family) as closing_family
from (
    select
        chain.app_id,
        chain.environment,
        chain.store,
        coalesce(period.product_id, '') as product_id,
        coalesce(period.country, '') as country,
        period.offer,
        (period.class = 'own' and not period.is_trial)::integer as running,
        0 as closing,
        (period.class = 'own' and period.is_trial)::integer as running_trials,
        0 as closing_trials,
        (period.class = 'family')::integer as running_family,
        0 as closing_family
    from ledger.period as period
    inner join fact.chain as chain using (subscription_key)
    where period.closing is null and not period.is_empty
    union all
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        offer,
        0,
        active,
        0,
        trial,
        0,
        family
    from measure.daily_movement
) as counted
group by app_id, environment, store, product_id, country, offer
having
    sum(running) <> sum(closing)
    or sum(running_trials) <> sum(closing_trials)
    or sum(running_family) <> sum(closing_family);
