-- What became of the trials that began on each day: what the settled trials were before is taken back, what they are now is
-- added.
create temp table daily_trial_difference on commit drop as
with trial as (
    select
        -1 as sign,
        trial_before.subscription_key,
        trial_before.trial_started_at,
        trial_before.trial_state,
        trial_before.trial_product_id,
        trial_before.trial_country
    from trial_before
    where not (select is_new_book from this_run)
    union all
    select
        1,
        trial_after.subscription_key,
        trial_after.trial_started_at,
        trial_after.trial_state,
        trial_after.trial_product_id,
        trial_after.trial_country
    from trial_after
    where not (select is_new_book from this_run)
    union all
    select
        1,
        period.subscription_key,
        period.trial_started_at,
        period.trial_state,
        period.trial_product_id,
        period.trial_country
    from ledger.period as period
    where period.trial_state is not null and (select is_new_book from this_run)
)

select
    app_id,
    environment,
    store,
    product_id,
    country,
    day,
    sum(started) as started,
    sum(converted) as converted,
    sum(expired) as expired,
    sum(cancelled) as cancelled,
    sum(running) as running,
    sum(in_retry) as in_retry
from (
    select
        chain.app_id,
        chain.environment,
        chain.store,
        coalesce(trial.trial_product_id, '') as product_id,
        coalesce(trial.trial_country, '') as country,
        (trial.trial_started_at at time zone this_run.zone)::date as day,
        sum(trial.sign) as started,
        coalesce(sum(trial.sign) filter (where trial.trial_state = 'converted'), 0) as converted,
        coalesce(sum(trial.sign) filter (where trial.trial_state = 'expired'), 0) as expired,
        coalesce(sum(trial.sign) filter (where trial.trial_state = 'cancelled'), 0) as cancelled,
        coalesce(sum(trial.sign) filter (where trial.trial_state = 'running'), 0) as running,
        coalesce(sum(trial.sign) filter (where trial.trial_state = 'in_retry'), 0) as in_retry
    from trial
    inner join fact.chain as chain using (subscription_key)
    cross join this_run
    group by
        chain.app_id,
        chain.environment,
        chain.store,
        coalesce(trial.trial_product_id, ''),
        coalesce(trial.trial_country, ''),
        (trial.trial_started_at at time zone this_run.zone)::date
    union all
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        day,
        -started,
        -converted,
        -expired,
        -cancelled,
        -running,
        -in_retry
    from measure.daily_trial
    where (select is_new_book from this_run)
) as differences
group by app_id, environment, store, product_id, country, day
having sum(started) <> 0
    or sum(converted) <> 0
    or sum(expired) <> 0
    or sum(cancelled) <> 0
    or sum(running) <> 0
    or sum(in_retry) <> 0;

insert into measure.daily_trial_change
select
    (select run_id from this_run),
    daily_trial_difference.*
from daily_trial_difference;

insert into measure.daily_trial as total
select *
from daily_trial_difference
order by app_id, environment, store, product_id, country, day
on conflict (app_id, environment, store, product_id, country, day) do update set
    started = total.started + excluded.started,
    converted = total.converted + excluded.converted,
    expired = total.expired + excluded.expired,
    cancelled = total.cancelled + excluded.cancelled,
    running = total.running + excluded.running,
    in_retry = total.in_retry + excluded.in_retry;

delete from measure.daily_trial as total
using daily_trial_difference as changed
where
    total.app_id = changed.app_id
    and total.environment = changed.environment
    and total.store = changed.store
    and total.product_id = changed.product_id
    and total.country = changed.country
    and total.day = changed.day
    and (total.started, total.converted, total.expired, total.cancelled, total.running, total.in_retry)
    = (0, 0, 0, 0, 0, 0);
