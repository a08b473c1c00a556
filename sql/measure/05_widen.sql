-- Widens to the chain's end the windows after which something carried on differs from what was stored; how many were
-- tells whether the periods must be derived once more.
with carried as (
    select
        settling.subscription_key,
        (
            select
                (
                    period.class,
                    period.is_trial_time,
                    period.opening,
                    period.charge,
                    period.paid_number,
                    period.first_paid_at,
                    period.trial_started_at,
                    period.stretch_started_at,
                    period.months_before,
                    period.rest_before
                ) is not distinct from (
                    stored.class,
                    stored.is_trial,
                    stored.opening,
                    stored.charge,
                    stored.paid_number,
                    stored.first_paid_at,
                    stored.trial_started_at,
                    stored.stretch_started_at,
                    stored.months_before,
                    stored.rest_before
                )
            from pg_temp.period
            where
                period.subscription_key = settling.subscription_key
                and period.transaction_id = settling.stop_transaction_id
        ) as is_same
    from settling
    inner join ledger.period as stored
        on
            settling.subscription_key = stored.subscription_key
            and settling.stop_at = stored.purchased_at
            and settling.stop_transaction_id = stored.transaction_id
),

widened as (
    update settling
    set
        stop_at = null,
        stop_transaction_id = null,
        beyond_at = null,
        beyond_transaction_id = null,
        beyond_until = null
    from carried
    where settling.subscription_key = carried.subscription_key and (carried.is_same is distinct from true)
    returning settling.subscription_key
)

select count(*) as widened
from widened;
