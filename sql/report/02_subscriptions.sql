-- Where does each subscription stand, as of the last run?
create view report.subscriptions as
with owner as (
    select distinct on (subscription_key)
        subscription_key,
        subscriber_id
    from ledger.identity
    order by subscription_key, starts_at desc
),

stood as (
    select
        identity.app_id,
        identity.environment,
        identity.store,
        identity.original_transaction_id,
        chain.auto_renew as newest_auto_renew,
        period.*,
        latest.as_of,
        latest.zone,
        latest.mrr_factors,
        case
            when period.closing is null and period.is_empty
                then case when period.revoked_at is not null then 'revoked' else 'expired' end
            when period.closing is null and period.is_trial then 'trial'
            when period.closing is null
                then
                    case
                        when period.is_failed and period.expires_at < latest.as_of
                            and period.grace_expires_at >= latest.as_of
                            then 'grace'
                        else 'active'
                    end
            when period.closed_at = any(period.revoked_at) and period.closed_at < period.expires_at then 'revoked'
            when period.closed_at = period.paused_at and coalesce(period.resumes_at >= latest.as_of, true) then 'paused'
            when period.retry_ends_at >= latest.as_of then 'billing_retry'
            else 'expired'
        end as status
    from ledger.chain as chain
    inner join fact.chain as identity using (subscription_key)
    inner join ledger.period as period using (subscription_key, purchased_at, transaction_id)
    cross join measure.latest as latest
),

last_move as (
    select distinct on (subscription_key)
        subscription_key,
        at,
        kind
    from (
        select
            subscription_key,
            at,
            kind,
            sum(sign * active) as active
        from ledger.entry
        where active <> 0
        group by subscription_key, at, kind
        having sum(sign) <> 0
    ) as moves
    order by subscription_key asc, at desc, active desc
)

select
    app.app_key as app,
    stood.environment,
    stood.store,
    stood.subscription_key::text as subscription_id,
    owner.subscriber_id,
    stood.original_transaction_id,
    stood.status,
    stood.product_id,
    stood.country,
    stood.newest_auto_renew as auto_renew,
    stood.purchased_at as starts_at,
    case
        when stood.is_empty and stood.status = 'revoked' then stood.revoked_at[1]
        when stood.status = 'revoked' or stood.closing = 'continued' or stood.closed_at = stood.paused_at
            then least(stood.closed_at, stood.expires_at)
        when stood.is_failed then greatest(stood.expires_at, stood.grace_expires_at)
        else stood.expires_at
    end as ends_at,
    case when stood.class = 'own' then stood.first_paid_at end as first_paid_at,
    case
        when stood.class = 'own'
            then
                ledger.paid_months(
                    stood.months_before,
                    stood.rest_before,
                    stood.stretch_started_at,
                    least(stood.expires_at, stood.closed_at, stood.as_of)
                )
    end as paid_months,
    case when starts_with(last_move.kind, 'churned_') then (last_move.at at time zone stood.zone)::date end
        as churned_on,
    case when starts_with(last_move.kind, 'churned_') then substr(last_move.kind, 9) end as churn_reason,
    stood.class = 'family' as is_family_shared,
    case
        when stood.class = 'own' and stood.status in ('active', 'grace')
            then
                trim_scale(
                    ledger.monthly_price(
                        case when stood.is_free then 0 else stood.price end,
                        coalesce(
                            case when stood.offer_discount = 'pay_up_front' then stood.offer_period end,
                            stood.period,
                            listed.period,
                            ledger.usual_length(
                                (extract(epoch from stood.expires_at - stood.purchased_at) / 86400)::numeric
                            )
                        ),
                        stood.mrr_factors
                    )::numeric / 1000000
                )
    end as mrr,
    case when stood.class = 'own' and stood.status in ('active', 'grace') then stood.currency end as currency
from stood
inner join ingest.app as app using (app_id)
left join owner using (subscription_key)
left join last_move using (subscription_key)
left join reference.product as listed on stood.app_id = listed.app_id and stood.product_id = listed.product_id;

comment on view report.subscriptions is
'Subscriptions as of the last run, one row per chain';
comment on column report.subscriptions.app is 'Dimension: the app''s key';
comment on column report.subscriptions.environment is 'Dimension: the store''s environment';
comment on column report.subscriptions.store is 'Dimension: the store';
comment on column report.subscriptions.subscription_id is 'Dimension: the subscription key as text';
comment on column report.subscriptions.subscriber_id is
'Detail: the customer''s id, else the app transaction id; null where neither is known';
comment on column report.subscriptions.original_transaction_id is 'Detail: the chain''s id at its store';
comment on column report.subscriptions.status is
'Dimension: trial, active, grace, billing_retry, paused, expired or revoked';
comment on column report.subscriptions.product_id is 'Dimension: the product of the last transaction';
comment on column report.subscriptions.country is 'Dimension: its storefront';
comment on column report.subscriptions.auto_renew is
'Dimension: whether it will renew, by the newest status; null where unknown';
comment on column report.subscriptions.starts_at is 'Detail: when the last transaction was bought';
comment on column report.subscriptions.ends_at is 'Detail: when its access ends or ended, grace included';
comment on column report.subscriptions.first_paid_at is
'Detail: the chain''s first paid start; null of family-shared chains';
comment on column report.subscriptions.paid_months is
'Detail: months of paid access, as win-back rules count them; null of family-shared chains';
comment on column report.subscriptions.churned_on is
'Detail: the reporting day access was lost; null unless the last movement is a churn';
comment on column report.subscriptions.churn_reason is 'Detail: why; null unless the last movement is a churn';
comment on column report.subscriptions.is_family_shared is 'Dimension: whether access comes through Family Sharing';
comment on column report.subscriptions.mrr is
'Detail: monthly recurring revenue of the running period in its currency; null unless active';
comment on column report.subscriptions.currency is 'Detail: the currency of mrr';

grant select on report.subscriptions to tenure_support, tenure_writer;
