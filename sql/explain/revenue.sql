-- Charges, and refunds on their own day and on the day of the purchase.
with moved as (
    select
        *,
        part = 0 as is_charge,
        part = 1 and at >= (select starts_at from asked) and at < (select ends_at from asked) as is_refund,
        part = 1 and purchased_at >= (select starts_at from asked) and purchased_at < (select ends_at from asked)
            as is_refund_of_charge,
        sign * amount * 0.000001 as money,
        -- What takes a refund back counts against it.
        case when kind = 'refund_reversed' then -sign else sign end as back
    from directed
    where
        charge is not null
        and (
            at >= (select starts_at from asked) and at < (select ends_at from asked)
            or part = 1
            and purchased_at >= (select starts_at from asked) and purchased_at < (select ends_at from asked)
        )
)

select
    entry_id,
    run_id,
    is_standing,
    at,
    kind as happened,
    subscription_key,
    transaction_id,
    product_id,
    country,
    offer,
    currency,
    case when charge = 'product_change' then direction else charge end as kind,
    case when is_charge then sign end as charges,
    case when is_charge and amount is null then sign end as unpriced_charges,
    case when is_charge then money end as gross,
    case when is_refund then money end as refunds,
    case when is_charge or is_refund then money end as net,
    case when is_refund_of_charge then money end as refunds_by_purchase_day,
    case when is_charge or is_refund_of_charge then money end as net_by_purchase_day,
    case when is_refund then back end as refunded_charges,
    case when is_refund_of_charge then back end as refunded_charges_by_purchase_day
from moved;
