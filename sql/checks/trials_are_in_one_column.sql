-- Each trial is in exactly one of its columns, and as many run as the periods that run are trials.
select
    app_id,
    environment,
    store,
    sum(started) as started,
    sum(converted + expired + cancelled + running + in_retry) as told,
    sum(open) as running,
    sum(counted) as counted
from (
    select
        app_id,
        environment,
        store,
        started,
        converted,
        expired,
        cancelled,
        running,
        in_retry,
        cancelled + running + in_retry as open,
        0 as counted
    from measure.daily_trial
    union all
    select
        chain.app_id,
        chain.environment,
        chain.store,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        1
    from ledger.period as period
    inner join fact.chain as chain using (subscription_key)
    where period.closing is null and period.class = 'own' and period.is_trial
) as trials
group by app_id, environment, store
having
    sum(started) <> sum(converted + expired + cancelled + running + in_retry)
    -- Trials in billing retry run no more.
    or sum(counted) > sum(open);
