-- Comings, goings and changes of active subscriptions.
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
    case when kind = 'new' then sign end as new,
    case when kind = 'trial_converted' then sign end as trial_converted,
    case when kind in ('reactivated', 'won_back') then sign end as reactivated,
    case when kind = 'won_back' then sign end as won_back,
    case when kind = 'recovered' then sign end as recovered,
    case when kind = 'refund_reversed' and active = 1 then sign end as refund_reversed,
    case when kind = 'resumed' then sign end as resumed,
    case
        when
            kind in ('renewed', 'product_changed') and active = 1
            and (
                product_id is distinct from from_product_id
                or country is distinct from from_country
                or offer is distinct from from_offer
            )
            then sign
    end as moved_in,
    case when kind = 'churned_voluntary' then sign end as churned_voluntary,
    case when kind = 'churned_billing' then sign end as churned_billing,
    case when kind = 'churned_price_increase' then sign end as churned_price_increase,
    case when kind = 'churned_product_unavailable' then sign end as churned_product_unavailable,
    case when kind = 'churned_refunded' then sign end as churned_refunded,
    case when kind = 'churned_other' then sign end as churned_other,
    case when kind = 'churned_unconfirmed' then sign end as churned_unconfirmed,
    case when kind = 'suspended' then sign end as suspended,
    case when kind = 'paused' then sign end as paused,
    case when kind = 'moved_out' then sign end as moved_out,
    case when kind = 'renewed' then sign end as renewed,
    case when kind = 'product_changed' and direction = 'upgrade' then sign end as upgraded,
    case when kind = 'product_changed' and direction = 'downgrade' then sign end as downgraded,
    case when kind = 'product_changed' and direction = 'crossgrade' then sign end as crossgraded
from directed
where at >= (select starts_at from asked) and at < (select ends_at from asked);
