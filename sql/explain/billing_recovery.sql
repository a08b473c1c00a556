-- Charges that failed on the day.
select
    *,
    (grace_expires_at is not null)::integer as entered_grace,
    (retry_ends_at is not null)::integer as entered_retry,
    (state = 'recovered_in_grace')::integer as recovered_in_grace,
    (state = 'recovered_in_retry')::integer as recovered_in_retry,
    (state = 'lost')::integer as lost,
    (state = 'open')::integer as open
from outcome
where report = 'billing_recovery';
