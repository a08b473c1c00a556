-- Trials that began on the day.
select
    *,
    1 as started,
    (state = 'converted')::integer as converted,
    (state = 'expired')::integer as expired,
    (state = 'cancelled')::integer as cancelled,
    (state = 'running')::integer as running,
    (state = 'in_retry')::integer as in_retry
from outcome
where report = 'trials';
