-- Of the events that said the same version the least is kept. Only versions that change are touched.
insert into fact.renewal as version (
    subscription_key, source, signed_at, digest, source_rank, stated, event_id, auto_renew, auto_renew_product_id,
    renews_at, renewal_price, currency, expiration_reason, in_billing_retry, grace_expires_at, paused_at,
    resumes_at, price_increase, eligible_win_back_offers
)
select distinct on (
    staged.subscription_key, staged.signed_at, staged.source, staged.digest
)
    staged.subscription_key,
    staged.source,
    staged.signed_at,
    staged.digest,
    staged.source_rank,
    staged.stated,
    staged.event_id,
    staged.auto_renew,
    staged.auto_renew_product_id,
    staged.renews_at,
    staged.renewal_price,
    staged.currency,
    staged.expiration_reason,
    staged.in_billing_retry,
    staged.grace_expires_at,
    staged.paused_at,
    staged.resumes_at,
    staged.price_increase,
    staged.eligible_win_back_offers
from staged_renewal as staged
inner join fact.renewal as known
    on
        known.subscription_key = staged.subscription_key
        and known.signed_at = staged.signed_at
        and known.source = staged.source
        and known.digest = staged.digest
where staged.event_id collate "C" < known.event_id collate "C"
order by
    staged.subscription_key,
    staged.signed_at,
    staged.source,
    staged.digest,
    staged.event_id collate "C"
on conflict (subscription_key, signed_at, source, digest) do update
set event_id = least(version.event_id collate "C", excluded.event_id collate "C");
