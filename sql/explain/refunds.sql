-- Refunds on their own day and on the day of the purchase, and the charges they are compared with.
select
    *,
    refunds as amount,
    refunds_by_purchase_day as amount_by_purchase_day
from revenue;
