-- Of the events that said the same version the least is kept. Only versions that change are touched.
insert into fact.transaction as version (
    subscription_key, transaction_id, source, signed_at, digest, source_rank, stated, event_id, type, product_id,
    group_id, period, purchased_at, expires_at, price, currency, country, reason, ownership, offer_type, offer_id,
    offer_discount, offer_period, revoked_at, revocation, refund, tax, commission, proceeds, is_upgraded, quantity
)
select distinct on (
    staged.subscription_key, staged.transaction_id, staged.source, staged.signed_at, staged.digest
)
    staged.subscription_key,
    staged.transaction_id,
    staged.source,
    staged.signed_at,
    staged.digest,
    staged.source_rank,
    staged.stated,
    staged.event_id,
    staged.type,
    staged.product_id,
    staged.group_id,
    staged.period,
    staged.purchased_at,
    staged.expires_at,
    staged.price,
    staged.currency,
    staged.country,
    staged.reason,
    staged.ownership,
    staged.offer_type,
    staged.offer_id,
    staged.offer_discount,
    staged.offer_period,
    staged.revoked_at,
    staged.revocation,
    staged.refund,
    staged.tax,
    staged.commission,
    staged.proceeds,
    staged.is_upgraded,
    staged.quantity
from staged_transaction as staged
inner join fact.transaction as known
    on
        known.subscription_key = staged.subscription_key
        and known.transaction_id = staged.transaction_id
        and known.source = staged.source
        and known.signed_at = staged.signed_at
        and known.digest = staged.digest
where staged.event_id collate "C" < known.event_id collate "C"
order by
    staged.subscription_key,
    staged.transaction_id,
    staged.source,
    staged.signed_at,
    staged.digest,
    staged.event_id collate "C"
on conflict (subscription_key, transaction_id, source, signed_at, digest) do update
set event_id = least(version.event_id collate "C", excluded.event_id collate "C");
