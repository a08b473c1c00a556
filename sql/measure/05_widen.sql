-- Widens to the chain's end the windows after which something carried on differs from what was stored; how many were
-- tells whether the periods must be derived once more.
with too_narrow as (
    select settling.subscription_key
    from settling
    inner join ledger.period as stored
        on
            settling.subscription_key = stored.subscription_key
            and settling.stop_at = stored.purchased_at
            and settling.stop_transaction_id = stored.transaction_id
    left join pg_temp.period as derived
        on
            settling.subscription_key = derived.subscription_key
            and settling.stop_transaction_id = derived.transaction_id
    where
        (
            derived.class,
            derived.is_trial_time,
            derived.opening,
            derived.charge,
            derived.paid_number,
            derived.first_paid_at,
            derived.trial_started_at,
            derived.stretch_started_at,
            derived.months_before,
            derived.rest_before,
            derived.served,
            derived.served_until,
            derived.is_first_service,
            derived.refunded_number
        ) is distinct from (
            stored.class,
            stored.is_trial,
            stored.opening,
            stored.charge,
            stored.paid_number,
            stored.first_paid_at,
            stored.trial_started_at,
            stored.stretch_started_at,
            stored.months_before,
            stored.rest_before,
            stored.served,
            stored.served_until,
            stored.is_first_service,
            stored.refunded_number
        )
),

widened as (
    update settling
    set
        stop_at = null,
        stop_transaction_id = null,
        beyond_at = null,
        beyond_transaction_id = null,
        beyond_until = null
    from too_narrow
    where settling.subscription_key = too_narrow.subscription_key
    returning settling.subscription_key
)

select count(*) as widened
from widened;
