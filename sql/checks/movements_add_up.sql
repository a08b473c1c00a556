-- On the days this run touched, what came in less what went out is the change of active subscriptions.
select *
from daily_movement_difference
where
    new + trial_converted + reactivated + recovered + refund_reversed + resumed + moved_in
    - churned_voluntary - churned_billing - churned_price_increase - churned_product_unavailable - churned_refunded
    - churned_other - churned_unconfirmed - suspended - pauses - moved_out <> active;
