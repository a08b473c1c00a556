-- On the days this run touched, the totals of movements and of revenue are the sums of the entries.
with touched as (
    select
        app_id,
        environment,
        store,
        day
    from daily_movement_difference
    union
    select
        app_id,
        environment,
        store,
        day
    from daily_revenue_difference
),

bound as (
    select
        min(touched.day)::timestamp at time zone this_run.zone as starts_at,
        (max(touched.day) + 1)::timestamp at time zone this_run.zone as ends_at
    from touched
    cross join this_run
    group by this_run.zone
),

posted as (
    select
        subscription_key,
        (at at time zone (select zone from this_run))::date as day,
        sum(sign * active) as active,
        sum(sign * trial) as trial,
        sum(sign * retry) as retry,
        sum(sign) filter (where charge is not null and part = 0) as charges,
        sum(sign * amount) as net
    from ledger.entry
    where
        at >= (select starts_at from bound)
        and at < (select ends_at from bound)
    group by subscription_key, (at at time zone (select zone from this_run))::date
),

counted as (
    select
        chain.app_id,
        chain.environment,
        chain.store,
        posted.day,
        posted.active,
        posted.trial,
        posted.retry,
        posted.charges,
        posted.net
    from posted
    inner join fact.chain as chain using (subscription_key)
    union all
    select
        app_id,
        environment,
        store,
        day,
        -active,
        -trial,
        -retry,
        0,
        0
    from measure.daily_movement
    union all
    select
        app_id,
        environment,
        store,
        day,
        0,
        0,
        0,
        -charges,
        -(gross + refunds)
    from measure.daily_revenue
)

select
    app_id,
    environment,
    store,
    day,
    sum(active) as active,
    sum(trial) as trial,
    sum(retry) as retry,
    sum(charges) as charges,
    sum(net) as net
from counted
inner join touched using (app_id, environment, store, day)
group by app_id, environment, store, day
having
    sum(active) <> 0 or sum(trial) <> 0 or sum(retry) <> 0 or coalesce(sum(charges), 0) <> 0
    or coalesce(sum(net), 0) <> 0;
