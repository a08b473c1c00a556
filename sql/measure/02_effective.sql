-- Makes one effective transaction out of all versions of each that changed: every field from the best source that states
-- it, there from the newest version, between versions of one moment from the one with the greater digest.
create temp table changed on commit drop as
select
    subscription_key,
    transaction_id
from unsettled
where transaction_id is not null
group by subscription_key, transaction_id;

analyze changed;

-- A transaction belongs to one chain of its store: where several name it, to the one that the best source names, there
-- by the newest version. The others are settled too, without it; what was said of it there is said of it here.
create temp table home on commit drop as
with elsewhere as (
    select distinct changed.transaction_id
    from changed
    inner join fact.transaction as version using (transaction_id)
    where version.subscription_key <> changed.subscription_key
),

named as (
    select distinct
        version.transaction_id,
        version.subscription_key,
        first_value(version.subscription_key) over (
            -- The App Store does not tell its purchases on a Mac from others; a vendor does.
            partition by
                version.transaction_id,
                chain.app_id,
                replace(chain.store, 'mac_app_store', 'app_store'),
                chain.environment
            order by version.source_rank desc, version.signed_at desc, version.digest desc, version.subscription_key
        ) as home_key
    from elsewhere
    inner join fact.transaction as version using (transaction_id)
    inner join fact.chain as chain using (subscription_key)
)

select
    subscription_key,
    transaction_id,
    home_key
from named;

insert into changed
select
    home.subscription_key,
    home.transaction_id
from home
left join changed using (subscription_key, transaction_id)
where changed.subscription_key is null;

create temp table version_count on commit drop as
select
    subscription_key,
    transaction_id,
    count(*) as versions,
    max(source_rank) as best_rank,
    bool_or(revoked_at is not null) as is_ever_revoked
from (
    select
        changed.subscription_key,
        changed.transaction_id,
        version.source_rank,
        version.revoked_at
    from changed
    inner join fact.transaction as version using (subscription_key, transaction_id)
    union all
    select
        home.home_key,
        home.transaction_id,
        version.source_rank,
        version.revoked_at
    from home
    inner join fact.transaction as version using (subscription_key, transaction_id)
    where home.subscription_key <> home.home_key
) as version
group by subscription_key, transaction_id;

analyze version_count;

-- Where there are several, with the chain that they speak of.
create temp table version on commit drop as
select
    version_count.subscription_key as spoken_of,
    version.*,
    version_count.best_rank,
    version_count.is_ever_revoked
from version_count
inner join fact.transaction as version using (subscription_key, transaction_id)
where version_count.versions > 1 or version_count.is_ever_revoked
union all
select
    home.home_key,
    version.*,
    version_count.best_rank,
    version_count.is_ever_revoked
from home
inner join
    version_count
    on home.home_key = version_count.subscription_key and home.transaction_id = version_count.transaction_id
inner join
    fact.transaction as version
    on home.subscription_key = version.subscription_key and home.transaction_id = version.transaction_id
where home.subscription_key <> home.home_key;

-- Revocations are read from the best source alone. One holds until the first later version without it.
create temp table revocation on commit drop as
with spoken as (
    select distinct on (spoken_of, transaction_id, signed_at)
        spoken_of as subscription_key,
        transaction_id,
        signed_at,
        revoked_at,
        revocation,
        refund
    from version
    where is_ever_revoked and source_rank = best_rank and stated & (1 << 11) <> 0
    order by spoken_of, transaction_id, signed_at, digest desc
),

numbered as (
    select
        *,
        count(*) filter (where is_turn) over (
            partition by subscription_key, transaction_id order by signed_at
        ) as run_of_versions
    from (
        select
            *,
            (revoked_at is not null) <> lag(revoked_at is not null, 1, false) over (
                partition by subscription_key, transaction_id order by signed_at
            ) as is_turn
        from spoken
    ) as turns
),

episode as (
    select
        subscription_key,
        transaction_id,
        run_of_versions,
        min(signed_at) as said_at,
        (array_agg(revoked_at order by signed_at desc))[1] as revoked_at,
        (array_agg(revocation order by signed_at desc))[1] as revocation,
        (array_agg(refund order by signed_at desc))[1] as refund
    from numbered
    where run_of_versions > 0
    group by subscription_key, transaction_id, run_of_versions
),

reversed as (
    select
        *,
        lead(said_at) over (
            partition by subscription_key, transaction_id order by run_of_versions
        ) as restored_at
    from episode
)

select
    subscription_key,
    transaction_id,
    array_agg(revoked_at order by revoked_at, said_at) as revoked_at,
    array_agg(restored_at order by revoked_at, said_at) as restored_at,
    array_agg(revocation order by revoked_at, said_at) as revocation,
    array_agg(refund order by revoked_at, said_at) as refund
from reversed
where revoked_at is not null
group by subscription_key, transaction_id;

create temp table effective on commit drop as
with merged as (
    select
        subscription_key,
        transaction_id,
        version.type,
        version.product_id,
        version.group_id,
        version.period,
        version.purchased_at,
        version.expires_at,
        version.price,
        version.currency,
        version.country,
        version.reason,
        version.ownership,
        version.offer_type,
        version.offer_id,
        version.offer_discount,
        version.offer_period,
        version.tax,
        version.commission,
        version.proceeds,
        version.currency as tax_currency,
        version.currency as commission_currency,
        version.currency as proceeds_currency,
        version_count.is_ever_revoked
    from version_count
    inner join fact.transaction as version using (subscription_key, transaction_id)
    where version_count.versions = 1
    union all
    select
        spoken_of,
        transaction_id,
        (array_agg(type) filter (where stated & (1 << 0) <> 0))[1],
        (array_agg(product_id) filter (where stated & (1 << 1) <> 0))[1],
        (array_agg(group_id) filter (where stated & (1 << 2) <> 0))[1],
        (array_agg(period) filter (where stated & (1 << 3) <> 0))[1],
        (array_agg(purchased_at) filter (where stated & (1 << 4) <> 0))[1],
        (array_agg(expires_at) filter (where stated & (1 << 5) <> 0))[1],
        (array_agg(price) filter (where stated & (1 << 6) <> 0))[1],
        (array_agg(currency) filter (where stated & (1 << 6) <> 0))[1],
        (array_agg(country) filter (where stated & (1 << 7) <> 0))[1],
        (array_agg(reason) filter (where stated & (1 << 8) <> 0))[1],
        (array_agg(ownership) filter (where stated & (1 << 9) <> 0))[1],
        (array_agg(offer_type) filter (where stated & (1 << 10) <> 0))[1],
        (array_agg(offer_id) filter (where stated & (1 << 10) <> 0))[1],
        (array_agg(offer_discount) filter (where stated & (1 << 10) <> 0))[1],
        (array_agg(offer_period) filter (where stated & (1 << 10) <> 0))[1],
        (array_agg(tax) filter (where stated & (1 << 14) <> 0))[1],
        (array_agg(commission) filter (where stated & (1 << 15) <> 0))[1],
        (array_agg(proceeds) filter (where stated & (1 << 16) <> 0))[1],
        (array_agg(currency) filter (where stated & (1 << 14) <> 0))[1],
        (array_agg(currency) filter (where stated & (1 << 15) <> 0))[1],
        (array_agg(currency) filter (where stated & (1 << 16) <> 0))[1],
        bool_or(is_ever_revoked)
    from (
        select
            version.*,
            version_count.versions
        from version
        inner join
            version_count
            on
                version.spoken_of = version_count.subscription_key
                and version.transaction_id = version_count.transaction_id
        where version_count.versions > 1
        order by spoken_of, version.transaction_id, source_rank desc, signed_at desc, digest desc
    ) as ordered
    group by spoken_of, transaction_id
)

select
    merged.subscription_key,
    merged.transaction_id,
    merged.type,
    merged.product_id,
    merged.group_id,
    merged.period,
    case when coalesce(home.home_key, merged.subscription_key) = merged.subscription_key
            then merged.purchased_at
    end as purchased_at,
    merged.expires_at,
    merged.price,
    merged.currency,
    merged.country,
    -- Who leaves it out may not know whether the store renewed or the customer came back; the first it is not.
    coalesce(
        merged.reason, case when merged.transaction_id <> chain.original_transaction_id then 'later' end
    ) as reason,
    coalesce(merged.offer_type, 'none') as offer,
    merged.offer_id,
    merged.offer_discount,
    merged.offer_period,
    -- A part of the price is in the price's currency, or of no use.
    case when coalesce(merged.tax_currency = merged.currency, true) then merged.tax end as tax,
    case when coalesce(merged.commission_currency = merged.currency, true) then merged.commission end as commission,
    case when coalesce(merged.proceeds_currency = merged.currency, true) then merged.proceeds end as proceeds,
    revocation.revoked_at,
    revocation.restored_at,
    -- What each revocation returned: the whole price unless it says otherwise, nothing of Family Sharing and of types
    -- that are not known.
    case
        when revocation.revoked_at is not null
            then
                array(
                    select
                        case
                            when coalesce(returned.revocation, 'full') not in ('full', 'prorated') then 0
                            -- In no currency, what it says is an amount of nothing.
                            when merged.price is null then null
                            when returned.revocation = 'prorated' then returned.refund
                            else coalesce(returned.refund, merged.price)
                        end
                    from unnest(revocation.revocation, revocation.refund)
                    with ordinality as returned (revocation, refund, nth)
                    order by returned.nth
                )
    end as refund,
    revocation.revocation,
    case
        when merged.ownership = 'family_shared' then 'family'
        when merged.type in ('consumable', 'non_consumable', 'non_renewing') then 'one_time'
        else 'own'
    end as class,
    coalesce(
        merged.offer_discount = 'free_trial' or (merged.price = 0 and merged.offer_type is not null), false
    ) as is_free
from merged
inner join fact.chain as chain using (subscription_key)
left join revocation using (subscription_key, transaction_id)
left join home using (subscription_key, transaction_id);

analyze effective (subscription_key, transaction_id, class);

-- What will be bought after the as-of moment waits for its time.
insert into ledger.unsettled (subscription_key, transaction_id, at, due_at)
select
subscription_key,
transaction_id,
purchased_at,
purchased_at
from effective
where purchased_at >= (select as_of from this_run);
