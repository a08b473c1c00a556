-- Charges, and refunds on their own day and on the day of the purchase, with what is left of them; and the rates by which tax and
-- commission are estimated and amounts converted.
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
),

priced as (
    select
        moved.*,
        left_over.tax as kept_tax,
        left_over.commission as kept_commission,
        left_over.proceeds as kept_proceeds,
        left_over.is_estimated,
        contract.tax_rate,
        contract.commission_rate,
        case
            when moved.amount is not null
                then reference.converted(moved.amount, worth.per_euro, worth.wanted_per_euro)
        end as converted,
        case when moved.amount <> 0 then reference.rate_of(worth.per_euro, worth.wanted_per_euro) end as exchange_rate
    from moved
    cross join asked
    inner join fact.chain as chain using (subscription_key)
    inner join ingest.app as app using (app_id)
    cross join lateral (
        select
            (
                select tax.rate
                from reference.tax_rate as tax
                where
                    tax.country = moved.country
                    and tax.from_day::timestamp at time zone asked.zone <= moved.purchased_at
                order by tax.from_day desc
                limit 1
            ) as tax_rate,
            measure.commission_rate(
                chain.store,
                case when agreed.terms !~ '^[0-9]' then agreed.terms end,
                case when agreed.terms ~ '^[0-9]' then agreed.terms::numeric end,
                moved.is_past_first_year
            ) as commission_rate
        from (select asked.commission ->> app.app_key as terms) as agreed
    ) as contract
    cross join lateral measure.left_over(
        moved.amount, moved.tax, moved.commission, moved.proceeds, contract.tax_rate, contract.commission_rate
    ) as left_over
    cross join lateral reference.known_conversion(
        moved.currency, asked.currency, (moved.purchased_at at time zone asked.zone)::date
    ) as worth
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
    case when is_refund_of_charge then back end as refunded_charges_by_purchase_day,
    case when is_charge or is_refund then sign * kept_tax * 0.000001 end as tax,
    case when is_charge or is_refund then sign * kept_commission * 0.000001 end as commission,
    case when is_charge or is_refund then sign * kept_proceeds * 0.000001 end as proceeds,
    case when is_charge or is_refund then sign * converted * 0.000001 end as net_converted,
    case when is_charge and amount is not null and converted is null then sign end as unconverted_charges,
    case when is_estimated and tax is null then tax_rate end as tax_rate,
    case when is_estimated and commission is null then commission_rate end as commission_rate,
    exchange_rate
from priced;
