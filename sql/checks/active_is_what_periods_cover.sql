-- Active chains counted straight from the periods that run at the as-of moment are those that the totals close with.
select
    app_id,
    environment,
    store,
    sum(running) as running,
    sum(closing) as closing
from (
    select
        chain.app_id,
        chain.environment,
        chain.store,
        1 as running,
        0 as closing
    from ledger.period as period
    inner join fact.chain as chain using (subscription_key)
    where period.closing is null and period.class = 'own' and not period.is_trial and not period.is_empty
    union all
    select
        app_id,
        environment,
        store,
        0,
        active
    from measure.daily_movement
) as counted
group by app_id, environment, store
having sum(running) <> sum(closing);
