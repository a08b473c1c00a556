-- What became of the trials that began on each day, of the renewals that were due on it, and of the charges that failed on it.
create temp view daily_outcome as
select
    chain.app_id,
    chain.environment,
    chain.store,
    this_run.zone,
    outcome.*
from (
    select * from outcome
    union all
    select
        1,
        subscription_key,
        product_id,
        country,
        expires_at,
        grace_expires_at,
        retry_ends_at,
        trial_started_at,
        trial_state,
        trial_product_id,
        trial_country,
        renewal_state,
        failure_state
    from ledger.period
    where
        coalesce(trial_state, renewal_state, failure_state) is not null
        and (select is_summed_anew from this_run)
) as outcome
inner join fact.chain as chain using (subscription_key)
cross join this_run;

create temp view daily_trial_contribution as
select
    app_id,
    environment,
    store,
    coalesce(trial_product_id, '') as product_id,
    coalesce(trial_country, '') as country,
    (trial_started_at at time zone zone)::date as day,
    sign as started,
    sign * (trial_state = 'converted')::integer as converted,
    sign * (trial_state = 'expired')::integer as expired,
    sign * (trial_state = 'cancelled')::integer as cancelled,
    sign * (trial_state = 'running')::integer as running,
    sign * (trial_state = 'in_retry')::integer as in_retry
from daily_outcome
where trial_state is not null;

call measure.post('daily_trial');

create temp view daily_renewal_contribution as
select
    app_id,
    environment,
    store,
    coalesce(product_id, '') as product_id,
    coalesce(country, '') as country,
    (expires_at at time zone zone)::date as day,
    sign as due,
    sign * (renewal_state = 'renewed')::integer as renewed,
    sign * (renewal_state = 'recovered_in_grace')::integer as recovered_in_grace,
    sign * (renewal_state = 'recovered_in_retry')::integer as recovered_in_retry,
    sign * (renewal_state = 'changed_product')::integer as changed_product,
    sign * (renewal_state = 'lost')::integer as lost,
    sign * (renewal_state = 'open')::integer as open
from daily_outcome
where renewal_state is not null;

call measure.post('daily_renewal');

create temp view daily_failure_contribution as
select
    app_id,
    environment,
    store,
    coalesce(product_id, '') as product_id,
    coalesce(country, '') as country,
    (expires_at at time zone zone)::date as day,
    sign * (grace_expires_at is not null)::integer as entered_grace,
    sign * (retry_ends_at is not null)::integer as entered_retry,
    sign * (failure_state = 'recovered_in_grace')::integer as recovered_in_grace,
    sign * (failure_state = 'recovered_in_retry')::integer as recovered_in_retry,
    sign * (failure_state = 'lost')::integer as lost,
    sign * (failure_state = 'open')::integer as open
from daily_outcome
where failure_state is not null;

call measure.post('daily_failure');
