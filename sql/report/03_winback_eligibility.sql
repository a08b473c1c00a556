-- Who could be won back, with which offer, and if not, why not? As of the last run; the first reason that applies.
create view report.winback_eligibility as
with candidate as (
    select
        subscription.*,
        chain.win_back_offers,
        chain.line_key,
        latest.as_of,
        latest.day,
        period.closed_at,
        app.app_id,
        period.subscription_key
    from report.subscriptions as subscription
    inner join ledger.chain as chain on chain.subscription_key = subscription.subscription_id::bigint
    inner join ledger.period as period using (subscription_key, purchased_at, transaction_id)
    inner join ingest.app as app on subscription.app = app.app_key
    cross join measure.latest as latest
    where
        subscription.first_paid_at is not null
        and subscription.status in ('billing_retry', 'paused', 'expired', 'revoked')
        -- Of chains that continue one another the last is the customer's.
        and not exists (
            select from ledger.chain as later
            where
                later.line_key = chain.line_key
                and (later.purchased_at, later.transaction_id) > (chain.purchased_at, chain.transaction_id)
        )
),

measured as (
    select
        candidate.*,
        offer.offer_id,
        offer.min_paid_months,
        offer.min_months_since,
        offer.max_months_since,
        offer.wait_months,
        offer.starts_on,
        offer.ends_on,
        offer.territories,
        offer.product_ids,
        offer.priority,
        used.last_used_at,
        ledger.whole_months(coalesce(candidate.closed_at, candidate.ends_at), candidate.as_of) as months_since,
        candidate.win_back_offers is not null as is_listed_by_store
    from candidate
    inner join reference.winback_offer as offer using (app_id)
    left join lateral (
        select max(least(period.expires_at, period.closed_at)) as last_used_at
        from ledger.period as period
        where
            period.subscription_key in (
                select sibling.subscription_key from ledger.chain as sibling where sibling.line_key = candidate.line_key
            )
            and period.offer = 'win_back' and period.offer_id = offer.offer_id
    ) as used on true
),

judged as (
    select
        *,
        case
            when status = 'billing_retry' then 'billing_retry'
            when auto_renew then 'auto_renew_on'
            when is_listed_by_store and not offer_id = any(win_back_offers) then 'not_offered_by_store'
            when not is_listed_by_store and paid_months < min_paid_months then 'too_little_paid_service'
            when not is_listed_by_store and months_since < min_months_since then 'too_recent'
            when not is_listed_by_store and months_since > max_months_since then 'too_long_ago'
            when
                not is_listed_by_store
                and (last_used_at at time zone 'UTC') + make_interval(months => wait_months) > as_of at time zone 'UTC'
                then 'waiting'
            when day < starts_on or day > ends_on then 'outside_dates'
            when territories is not null and not coalesce(country = any(territories), false) then 'outside_territories'
            when product_ids is not null and not coalesce(product_id = any(product_ids), false) then 'other_product'
            else 'eligible'
        end as reason
    from measured
)

select
    app,
    environment,
    store,
    subscription_id,
    offer_id,
    subscriber_id,
    original_transaction_id,
    product_id,
    reason = 'eligible' as eligible,
    reason,
    case when is_listed_by_store then 'store' else 'rules' end as source,
    case
        when reason = 'eligible'
            then
                row_number() over (
                    partition by subscription_key, reason = 'eligible'
                    order by
                        array_position(win_back_offers, offer_id) asc,
                        priority = 'high' desc,
                        coalesce(min_paid_months, 0) desc,
                        offer_id asc
                )
    end as rank,
    churned_on,
    paid_months,
    months_since,
    last_used_at
from judged;

comment on view report.winback_eligibility is
'Win-back eligibility as of the last run, one row per configured offer and chain that ever paid and has no access';
comment on column report.winback_eligibility.app is 'Dimension: the app''s key';
comment on column report.winback_eligibility.environment is 'Dimension: the store''s environment';
comment on column report.winback_eligibility.store is 'Dimension: the store';
comment on column report.winback_eligibility.subscription_id is 'Dimension: the subscription key as text';
comment on column report.winback_eligibility.offer_id is 'Dimension: the win-back offer';
comment on column report.winback_eligibility.subscriber_id is
'Detail: the customer''s id, else the app transaction id; null where neither is known';
comment on column report.winback_eligibility.original_transaction_id is 'Detail: the chain''s id at its store';
comment on column report.winback_eligibility.product_id is 'Dimension: the chain''s most recent product';
comment on column report.winback_eligibility.eligible is 'Dimension: whether the offer can be made';
comment on column report.winback_eligibility.reason is
'Dimension: eligible, or the first of billing_retry, auto_renew_on, not_offered_by_store, too_little_paid_service, too_recent, too_long_ago, waiting, outside_dates, outside_territories, other_product';
comment on column report.winback_eligibility.source is
'Dimension: store where the newest status carries a list of offers, else rules';
comment on column report.winback_eligibility.rank is 'Detail: order among the chain''s eligible offers, best first';
comment on column report.winback_eligibility.churned_on is
'Detail: the reporting day access was lost; null unless the last movement is a churn';
comment on column report.winback_eligibility.paid_months is 'Detail: months of paid access';
comment on column report.winback_eligibility.months_since is 'Detail: whole calendar months since access ended';
comment on column report.winback_eligibility.last_used_at is 'Detail: end of the last use of the same offer';

grant select on report.winback_eligibility to tenure_support, tenure_writer;
