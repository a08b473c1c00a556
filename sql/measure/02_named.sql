-- Puts down the transactions of which the facts contradict each other: those that a chain names although they belong to
-- another, and those of which sources say different things. What is only left out by one of them is no contradiction.
create temp table contradicted on commit drop as
with several as (
    select
        spoken_of,
        transaction_id
    from version
    group by spoken_of, transaction_id
    having min(source collate "C") <> max(source collate "C")
),

-- What each source says by now.
told as (
    select
        spoken_of as subscription_key,
        transaction_id,
        source,
        (array_agg(type) filter (where stated & (1 << 0) <> 0))[1] as type,
        (array_agg(product_id) filter (where stated & (1 << 1) <> 0))[1] as product_id,
        (array_agg(purchased_at) filter (where stated & (1 << 4) <> 0))[1] as purchased_at,
        (array_agg(expires_at) filter (where stated & (1 << 5) <> 0))[1] as expires_at,
        (array_agg(price) filter (where stated & (1 << 6) <> 0))[1] as price,
        (array_agg(currency) filter (where stated & (1 << 6) <> 0))[1] as currency,
        (array_agg(country) filter (where stated & (1 << 7) <> 0))[1] as country,
        (array_agg(ownership) filter (where stated & (1 << 9) <> 0))[1] as ownership,
        (array_agg(offer_type) filter (where stated & (1 << 10) <> 0))[1] as offer_type
    from (
        select version.*
        from version
        inner join several using (spoken_of, transaction_id)
        order by spoken_of, transaction_id, source, signed_at desc, digest desc
    ) as ordered
    group by spoken_of, transaction_id, source
)

select
    subscription_key,
    transaction_id,
    'sources_disagree' as doubt
from told
group by subscription_key, transaction_id
having
    -- A vendor tells a one-time purchase from a subscription, not of which kind it is.
    min(type) <> max(type) and (
        min(type) filter (where source not in ('revenuecat', 'adapty', 'apphud'))
        <> max(type) filter (where source not in ('revenuecat', 'adapty', 'apphud'))
        or count(*) filter (where type = 'auto_renewable') not in (0, count(type))
    )
    or min(product_id) <> max(product_id)
    -- Clocks differ in how finely they tell.
    or max(purchased_at) - min(purchased_at) > interval '1 minute'
    or max(expires_at) - min(expires_at) > interval '1 minute'
    or min(price) <> max(price)
    or min(currency) <> max(currency)
    -- What these two tell is where the customer was, not the storefront.
    or min(country) filter (where source not in ('revenuecat', 'apphud'))
    <> max(country) filter (where source not in ('revenuecat', 'apphud'))
    or min(ownership) <> max(ownership)
    or min(offer_type) <> max(offer_type)
union all
select
    home.subscription_key,
    home.transaction_id,
    'named_elsewhere'
from home
inner join fact.chain as chain using (subscription_key)
inner join fact.chain as owner on home.home_key = owner.subscription_key
-- The same chain by the other word for its store is no other chain.
where chain.original_transaction_id <> owner.original_transaction_id;

delete from ledger.doubt
using changed
where
    changed.subscription_key = doubt.subscription_key
    and changed.transaction_id = doubt.transaction_id
    and (doubt.subscription_key, doubt.transaction_id, doubt.doubt) not in (select * from contradicted);

insert into ledger.doubt
select *
from contradicted
order by subscription_key, transaction_id, doubt
on conflict do nothing;
