-- Which App Store message is due to each subscriber, since when, and when was each last shown? As of the last run. A message is
-- due since the moment by which all that it takes was so, whenever that became known:
-- billing_issue (in grace or retry) since the end of the period whose renewal could not be charged;
-- price_increase_consent (asked for, while access runs) since the first status of the unbroken row of them that says pending;
-- win_back_offer (an offer is eligible) since the chain became so; of several offers the first counts.
-- When a generic message, or one without a name yet, is due only the store knows: it is since the first report of a client that
-- holds it back, after it was last shown.
create view report.store_messages as
with failed as (
    -- Of a line only the last period can be in grace or in open retry, and it waits for what ends that.
    select
        period.subscription_key,
        period.expires_at as due_since
    from ledger.period as period
    cross join measure.latest as latest
    where
        period.due_at is not null
        and period.is_failed
        and period.class = 'own'
        and (
            period.retry_ends_at >= latest.as_of
            or (
                period.closing is null
                and period.expires_at < latest.as_of
                and period.grace_expires_at >= latest.as_of
            )
        )
),

asked as (
    select
        ever.subscription_key,
        said.pending_since as due_since
    from (
        select distinct subscription_key
        from fact.renewal
        where price_increase = 'pending'
    ) as ever
    inner join ledger.chain using (subscription_key)
    inner join ledger.period as period using (subscription_key, purchased_at, transaction_id)
    cross join measure.latest as latest
    cross join lateral (
        select
            min(word.signed_at) filter (
                where word.price_increase = 'pending' and word.signed_at > coalesce(word.other_at, '-infinity')
            ) as pending_since
        from (
            select
                signed_at,
                price_increase,
                max(signed_at) filter (where price_increase is distinct from 'pending') over () as other_at
            from (
                -- Of several statuses of one moment the best source's counts.
                select distinct on (renewal.signed_at)
                    renewal.signed_at,
                    renewal.price_increase
                from fact.renewal as renewal
                where
                    renewal.subscription_key = ever.subscription_key
                    and renewal.signed_at < latest.as_of
                    and renewal.stated & (1 << 9) <> 0
                order by renewal.signed_at, renewal.source_rank desc, renewal.digest desc
            ) as newest
        ) as word
    ) as said
    where
        said.pending_since is not null
        and period.class = 'own'
        and period.closing is null
        and not period.is_empty
),

winnable as (
    select
        began.subscription_key,
        min(began.eligible_at) as due_since
    from report.winback_eligibility as offered
    cross join measure.latest as latest
    cross join lateral (
        select
            winback.subscription_key,
            max(winback.eligible_at) as eligible_at
        from ledger.winback as winback
        where
            winback.subscription_key = offered.subscription_id::bigint
            and winback.offer_id = offered.offer_id
            and winback.due_at < latest.as_of
        group by winback.subscription_key
    ) as began
    where offered.eligible and offered.store = 'app_store'
    group by began.subscription_key
),

due as (
    select
        subscription_key,
        'billing_issue' as message,
        due_since
    from failed
    union all
    select
        subscription_key,
        'price_increase_consent',
        due_since
    from asked
    union all
    select
        subscription_key,
        'win_back_offer',
        due_since
    from winnable
),

told as (
    select
        subscription_key,
        message,
        max(last_shown_at) as last_shown_at,
        min(told_at) filter (
            where is_pending and told_at > coalesce(last_shown_at, '-infinity')
        ) as pending_since
    from (
        select
            report.subscription_key,
            report.message,
            report.is_pending,
            report.shown_at as told_at,
            max(report.shown_at) filter (where not report.is_pending) over (
                partition by report.subscription_key, report.message
            ) as last_shown_at
        from fact.store_message as report
        cross join measure.latest as latest
        where report.shown_at < latest.as_of
    ) as report
    group by subscription_key, message
),

-- What the facts say is due, only they say is due no more.
reported as (
    select
        subscription_key,
        message,
        last_shown_at,
        case
            when message not in ('billing_issue', 'price_increase_consent', 'win_back_offer') then pending_since
        end as pending_since
    from told
)

select
    app.app_key as app,
    chain.environment,
    chain.store,
    subscription_key::text as subscription_id,
    message,
    owner.subscriber_id,
    coalesce(due.due_since, reported.pending_since) as due_since,
    reported.last_shown_at
from due
full join reported using (subscription_key, message)
inner join fact.chain as chain using (subscription_key)
inner join ingest.app as app using (app_id)
left join lateral (
    select identity.subscriber_id
    from ledger.identity as identity
    where identity.subscription_key = chain.subscription_key
    order by identity.starts_at desc
    limit 1
) as owner on true
where
    chain.store = 'app_store'
    -- Of a message that was only held back, and is due no more, there is nothing to tell.
    and coalesce(due.due_since, reported.pending_since, reported.last_shown_at) is not null;

comment on view report.store_messages is
'App Store messages that are due as of the last run or were ever shown, one row per chain and message';
comment on column report.store_messages.app is 'Dimension: the app''s key';
comment on column report.store_messages.environment is 'Dimension: the store''s environment';
comment on column report.store_messages.store is 'Dimension: the store: app_store';
comment on column report.store_messages.subscription_id is 'Dimension: the subscription key as text';
comment on column report.store_messages.message is
'Dimension: billing_issue, price_increase_consent, win_back_offer, generic, or another that a client reported; one without a name yet is storekit_ and its number';
comment on column report.store_messages.subscriber_id is
'Detail: the customer''s id, else the app transaction id; null where neither is known';
comment on column report.store_messages.due_since is
'Detail: when it became due: a failed charge at the period''s end, consent by the first status that asks for it, a win-back offer when the chain met its last condition, any other since a client holds it back; null when it is not due';
comment on column report.store_messages.last_shown_at is
'Detail: when a client last showed it, by its own report; null when never';

grant select on report.store_messages to tenure_support, tenure_writer;
