-- Active chains at the end of the day, each with the MRR of its running period and the entry that began it. Of chains that
-- continue one another the MRR goes on: they are one. With all entries wanted: every one that brought MRR to its row or took
-- it away.
with running as (
    select chain.line_key
    from ledger.entry
    inner join ledger.chain as chain using (subscription_key)
    where entry.active <> 0 and entry.at < (select ends_at from asked)
    group by chain.line_key
    having sum(entry.sign * entry.active) <> 0
),

moved as (
    select
        his.entry_id,
        his.run_id,
        his.is_standing,
        his.at,
        his.happened,
        his.subscription_key,
        his.transaction_id,
        his.product_id,
        his.country,
        his.currency,
        sum(his.amount) as mrr,
        sum(his.unpriced) as unpriced,
        sum(his.converted) as converted,
        his.exchange_rate,
        sum(sum(his.amount)) over place as has_mrr,
        sum(sum(his.converted)) over place as has_converted,
        sum(sum(his.unpriced)) over place as has_unpriced,
        row_number() over (
            place
            -- The last one that stands.
            order by
                his.is_standing desc,
                his.at desc,
                his.purchased_at desc,
                his.transaction_id desc,
                his.part desc,
                his.line desc
        ) = 1 as is_last
    from running
    inner join ledger.chain as chain using (line_key)
    cross join lateral (
        select mrr_leg.*
        from mrr_leg
        where mrr_leg.subscription_key = chain.subscription_key and mrr_leg.at < (select ends_at from asked)
        offset 0
    ) as his
    group by
        running.line_key,
        his.entry_id,
        his.run_id,
        his.is_standing,
        his.at,
        his.purchased_at,
        his.part,
        his.line,
        his.happened,
        his.subscription_key,
        his.transaction_id,
        his.exchange_rate,
        his.product_id,
        his.country,
        his.currency
    window place as (partition by running.line_key, his.product_id, his.country, his.currency)
),

attributed as (
    select
        moved.*,
        case when asked.wants_all then moved.mrr when moved.is_last then moved.has_mrr end as brings,
        case when asked.wants_all then moved.converted when moved.is_last then moved.has_converted end
            as brings_converted,
        case when asked.wants_all then moved.unpriced when moved.is_last then moved.has_unpriced end as brings_unpriced
    from moved
    cross join asked
)

select
    entry_id,
    run_id,
    is_standing,
    at,
    happened,
    subscription_key,
    transaction_id,
    product_id,
    country,
    currency,
    -- What has no known price is in no currency, and in no MRR.
    case when currency is not null then brings end as mrr,
    case when currency is not null then brings * 12 end as arr,
    case when currency is not null then brings_converted end as mrr_converted,
    brings_unpriced as unpriced_subscriptions,
    exchange_rate
from attributed;
