-- What became of trials, renewals and failed charges of the day, one row each, with the entry that decided it: how the next
-- period began, how this one ended or came into grace or retry, or how it began.
select
    decided.entry_id,
    decided.run_id,
    decided.is_standing,
    decided.at,
    decided.kind as happened,
    decided.subscription_key,
    decided.transaction_id,
    told.report,
    told.state,
    told.product_id,
    told.country,
    period.grace_expires_at,
    period.retry_ends_at
from ledger.period as period
cross join lateral (
    values
    ('trials', period.trial_state, period.trial_started_at, period.trial_product_id, period.trial_country),
    ('renewal_rate', period.renewal_state, period.expires_at, period.product_id, period.country),
    ('billing_recovery', period.failure_state, period.expires_at, period.product_id, period.country)
) as told (report, state, at, product_id, country)
left join lateral (
    select
        later.subscription_key,
        later.transaction_id
    from ledger.chain as chain
    inner join ledger.chain as joined_chain using (line_key)
    inner join ledger.period as later on joined_chain.subscription_key = later.subscription_key
    where
        chain.subscription_key = period.subscription_key
        and later.class = period.class
        and later.purchased_at > period.purchased_at
        and not later.is_empty
    order by later.purchased_at
    limit 1
) as next_period
    on told.state in ('converted', 'renewed', 'recovered_in_grace', 'recovered_in_retry', 'changed_product')
inner join lateral (
    select entry.*
    from entry
    where
        entry.subscription_key = coalesce(next_period.subscription_key, period.subscription_key)
        and entry.transaction_id = coalesce(next_period.transaction_id, period.transaction_id)
        and entry.is_standing
    order by
        next_period.transaction_id is null
        and case
            when told.state in ('lost', 'expired') then entry.active < 0 or entry.trial < 0
            when told.state in ('open', 'in_retry') then entry.grace > 0 or entry.retry > 0
            else false
        end desc,
        entry.part,
        entry.at desc
    limit 1
) as decided on true
where
    told.state is not null
    and told.at >= (select starts_at from asked)
    and told.at < (select ends_at from asked);
