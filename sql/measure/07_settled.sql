-- Keeps the periods as settled, what was last said of each chain, and the products as they were seen.

-- What became of trials, renewals and failed charges: what the settled periods were before is taken back, what they are now
-- is added.
create temp table outcome (
    sign smallint not null,
    subscription_key bigint not null,
    product_id text,
    country text,
    expires_at timestamptz,
    grace_expires_at timestamptz,
    retry_ends_at timestamptz,
    trial_started_at timestamptz,
    trial_state text,
    trial_product_id text,
    trial_country text,
    renewal_state text,
    failure_state text
) on commit drop;

-- A trial of several free periods is one, of the first one's product and country.
create temp table trial_after on commit drop as
select
    last_period.subscription_key,
    last_period.transaction_id,
    last_period.trial_started_at,
    last_period.trial_state,
    first_period.product_id as trial_product_id,
    first_period.country as trial_country
from pg_temp.period as last_period
cross join lateral (
    select
        last_period.product_id,
        last_period.country
    where last_period.opening = 'trial_started'
    union all
    select
        settled.product_id,
        settled.country
    from pg_temp.period as settled
    where
        last_period.opening <> 'trial_started'
        and settled.line_key = last_period.line_key
        and settled.purchased_at = last_period.trial_started_at
        and settled.opening = 'trial_started'
    union all
    select
        stored.product_id,
        stored.country
    from ledger.period as stored
    where
        last_period.opening <> 'trial_started'
        and stored.subscription_key = last_period.subscription_key
        and stored.purchased_at = last_period.trial_started_at
        and stored.opening = 'trial_started'
    limit 1
) as first_period
where last_period.trial_state is not null;

with dropped as (
    delete from ledger.period
    using settling
    where
        settling.subscription_key = period.subscription_key
        and not settling.is_new
        and (
            settling.base_at is null
            or (period.purchased_at, period.transaction_id) >= (settling.base_at, settling.base_transaction_id)
        )
        and (
            settling.stop_at is null
            or (period.purchased_at, period.transaction_id) <= (settling.stop_at, settling.stop_transaction_id)
        )
    returning period.*
)

insert into outcome
select
    -1,
    subscription_key,
    product_id,
    country,
    expires_at,
    grace_expires_at,
    retry_ends_at,
    trial_started_at,
    trial_state,
    trial_product_id,
    trial_country,
    renewal_state,
    failure_state
from dropped
where
    coalesce(trial_state, renewal_state, failure_state) is not null
    and not (select is_summed_anew from this_run);

insert into ledger.period
select
    period.subscription_key,
    period.purchased_at,
    period.transaction_id,
    line.type,
    line.product_id,
    line.group_id,
    line.period,
    line.expires_at,
    line.price,
    line.currency,
    line.country,
    line.reason,
    line.offer,
    line.offer_id,
    line.offer_discount,
    line.offer_period,
    line.tax,
    line.commission,
    line.proceeds,
    line.revoked_at,
    line.restored_at,
    line.refund,
    line.revocation,
    line.class,
    line.is_free,
    period.is_trial_time,
    false as is_empty,
    period.charge,
    period.auto_renew,
    period.expiration_reason,
    period.is_failed,
    period.grace_expires_at,
    period.expired_said_at,
    period.paused_at,
    period.resumes_at,
    period.opening,
    period.closing,
    period.closed_at,
    period.retry_ends_at,
    period.due_at,
    period.paid_number,
    period.first_paid_at,
    period.trial_started_at,
    trial_after.trial_state,
    trial_after.trial_product_id,
    trial_after.trial_country,
    period.renewal_state,
    period.failure_state,
    period.stretch_started_at,
    period.months_before,
    period.rest_before,
    period.served,
    period.served_until,
    period.is_first_service,
    period.refunded_number
from pg_temp.period
inner join line using (subscription_key, transaction_id)
left join trial_after using (subscription_key, transaction_id)
union all
select
    subscription_key,
    purchased_at,
    transaction_id,
    type,
    product_id,
    group_id,
    period,
    expires_at,
    price,
    currency,
    country,
    reason,
    offer,
    offer_id,
    offer_discount,
    offer_period,
    tax,
    commission,
    proceeds,
    revoked_at,
    restored_at,
    refund,
    revocation,
    class,
    is_free,
    false,
    true,
    charge,
    null,
    null,
    false,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    (
        select min(moment)
        from unnest(revoked_at || restored_at) as moment
        where moment >= (select as_of from this_run)
    ),
    paid_number,
    first_paid_at,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    0,
    interval '0',
    served,
    null,
    false,
    null
from bare_charge
order by subscription_key, purchased_at, transaction_id;

insert into outcome
select
    1,
    period.subscription_key,
    line.product_id,
    line.country,
    line.expires_at,
    period.grace_expires_at,
    period.retry_ends_at,
    period.trial_started_at,
    trial_after.trial_state,
    trial_after.trial_product_id,
    trial_after.trial_country,
    period.renewal_state,
    period.failure_state
from pg_temp.period
inner join line using (subscription_key, transaction_id)
left join trial_after using (subscription_key, transaction_id)
where
    coalesce(trial_after.trial_state, period.renewal_state, period.failure_state) is not null
    and not (select is_summed_anew from this_run);

insert into ledger.chain as chain (
    subscription_key,
    line_key,
    class,
    purchased_at,
    transaction_id,
    auto_renew,
    win_back_offers
)
with classes as (
    select
        subscription_key,
        case when min(class) = max(class) then min(class) else 'mixed' end as class
    from line
    group by subscription_key
),

-- The last period that gives access; where none does, the last transaction that was bought.
last_period as (
    select distinct on (subscription_key)
        subscription_key,
        purchased_at,
        transaction_id
    from (
        select
            subscription_key,
            purchased_at,
            transaction_id,
            true as gives_access
        from pg_temp.period
        where (next_subscription_key is distinct from subscription_key)
        union all
        select
            subscription_key,
            purchased_at,
            transaction_id,
            false
        from bare_charge
        where class <> 'one_time'
    ) as candidates
    order by subscription_key asc, gives_access desc, purchased_at desc, transaction_id desc
)

select
    settling.subscription_key,
    settling.line_key,
    classes.class,
    -- What was settled in the middle leaves the last as it was.
    case when settling.stop_at is null then last_period.purchased_at else stored.purchased_at end,
    case when settling.stop_at is null then last_period.transaction_id else stored.transaction_id end,
    said.auto_renew,
    offered.eligible_win_back_offers
from settling
left join classes using (subscription_key)
left join last_period using (subscription_key)
left join ledger.chain as stored using (subscription_key)
left join lateral (
    select renewal.auto_renew
    from fact.renewal as renewal
    where
        renewal.subscription_key = settling.subscription_key
        and renewal.signed_at < (select as_of from this_run)
        and renewal.auto_renew is not null
    order by renewal.signed_at desc, renewal.source_rank desc, renewal.digest desc
    limit 1
) as said on true
left join lateral (
    select renewal.eligible_win_back_offers
    from fact.renewal as renewal
    where
        renewal.subscription_key = settling.subscription_key
        and renewal.signed_at < (select as_of from this_run)
        and renewal.stated & (1 << 10) <> 0
    order by renewal.signed_at desc, renewal.source_rank desc, renewal.digest desc
    limit 1
) as offered on true
on conflict (subscription_key) do update set
    line_key = excluded.line_key,
    class = case
        when chain.class is null or chain.class = excluded.class then excluded.class
        when excluded.class is null then chain.class
        else 'mixed'
    end,
    purchased_at = excluded.purchased_at,
    transaction_id = excluded.transaction_id,
    auto_renew = excluded.auto_renew,
    win_back_offers = excluded.win_back_offers;

-- What nothing shows any more is gone when everything is derived again.
delete from ledger.product where (select is_rebuild from this_run);

-- A transaction without an offer shows a product's length best: an offer may have one of its own.
insert into ledger.product as product (
    app_id,
    environment,
    store,
    product_id,
    group_id,
    period,
    is_at_usual_price,
    seen_at,
    transaction_id
)
with newest as (
    select
        chain.app_id,
        chain.environment,
        chain.store,
        line.product_id,
        line.offer = 'none' as is_at_usual_price,
        max(line.purchased_at) as purchased_at
    from line
    inner join fact.chain as chain using (subscription_key)
    where line.product_id is not null
    group by chain.app_id, chain.environment, chain.store, line.product_id, line.offer = 'none'
)

select distinct on (newest.app_id, newest.environment, newest.store, newest.product_id)
    newest.app_id,
    newest.environment,
    newest.store,
    newest.product_id,
    line.group_id,
    coalesce(
        line.period,
        ledger.usual_length((extract(epoch from line.expires_at - line.purchased_at) / 86400)::numeric)
    ),
    newest.is_at_usual_price,
    line.purchased_at,
    line.transaction_id
from newest
inner join line
    on
        newest.product_id = line.product_id
        and newest.purchased_at = line.purchased_at
        and newest.is_at_usual_price = (line.offer = 'none')
inner join fact.chain as chain
    on
        line.subscription_key = chain.subscription_key
        and newest.app_id = chain.app_id
        and newest.environment = chain.environment
        and newest.store = chain.store
order by
    newest.app_id asc,
    newest.environment asc,
    newest.store asc,
    newest.product_id asc,
    newest.is_at_usual_price desc,
    line.transaction_id desc
on conflict (app_id, environment, store, product_id) do update set
    group_id = excluded.group_id,
    period = excluded.period,
    is_at_usual_price = excluded.is_at_usual_price,
    seen_at = excluded.seen_at,
    transaction_id = excluded.transaction_id
where
    (excluded.is_at_usual_price, excluded.seen_at, excluded.transaction_id)
    >= (product.is_at_usual_price, product.seen_at, product.transaction_id);
