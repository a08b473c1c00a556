-- Renewals that were due on the day.
select
    *,
    1 as due,
    (state = 'renewed')::integer as renewed,
    (state = 'recovered_in_grace')::integer as recovered_in_grace,
    (state = 'recovered_in_retry')::integer as recovered_in_retry,
    (state = 'changed_product')::integer as changed_product,
    (state = 'lost')::integer as lost,
    (state = 'open')::integer as open
from outcome
where report = 'renewal_rate';
