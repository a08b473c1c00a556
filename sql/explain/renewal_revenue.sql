-- What revenue has of renewals and recovered charges.
select *
from revenue
where kind in ('renewal', 'billing_recovery');
