-- Churns in the period by their reason, and which of them were the chain's last movement in it. Chains that continue one
-- another are one here.
with lost as (
    select
        entry.*,
        chain.line_key,
        row_number() over (
            partition by chain.line_key, entry.at, entry.kind
            order by entry.is_standing desc, entry.subscription_key, entry.run_id, entry.line
        ) = 1 as is_first
    from entry
    inner join ledger.chain as chain using (subscription_key)
    where
        entry.at >= (select starts_at from asked)
        and entry.at < (select ends_at from asked)
        and starts_with(entry.kind, 'churned_')
),

-- Movements since the period began, without those that only change the row.
move as (
    select
        chain.line_key,
        moving.at,
        moving.kind,
        sum(moving.sign * moving.active) as active
    from (select distinct line_key from lost) as line
    inner join ledger.chain as chain using (line_key)
    inner join ledger.entry as moving using (subscription_key)
    where
        moving.active <> 0
        and moving.at >= (select starts_at from asked)
        and moving.kind not in ('renewed', 'product_changed', 'moved_out', 'handed_over')
    group by chain.line_key, moving.at, moving.kind
    having sum(moving.sign) <> 0
),

last_in_period as materialized (
    select
        line_key,
        at,
        kind,
        was_active
    from (
        select
            *,
            lead(at) over moves as next_at,
            -- Active at the start: the first movement is one out.
            first_value(active) over moves < 0 as was_active
        from move
        -- At one moment a loss comes before what follows it.
        window moves as (partition by line_key order by at, active)
    ) as followed
    where
        starts_with(kind, 'churned_')
        and at < (select ends_at from asked)
        and (next_at is null or next_at >= (select ends_at from asked))
)

select
    lost.entry_id,
    lost.run_id,
    lost.is_standing,
    lost.at,
    lost.kind as happened,
    lost.subscription_key,
    lost.transaction_id,
    lost.product_id,
    case when last_in_period.was_active then 1 end as churned,
    case when not last_in_period.was_active then 1 end as churned_same_period,
    case when lost.kind = 'churned_voluntary' then lost.sign end as churned_voluntary,
    case when lost.kind = 'churned_billing' then lost.sign end as churned_billing,
    case when lost.kind = 'churned_price_increase' then lost.sign end as churned_price_increase,
    case when lost.kind = 'churned_product_unavailable' then lost.sign end as churned_product_unavailable,
    case when lost.kind = 'churned_refunded' then lost.sign end as churned_refunded,
    case when lost.kind = 'churned_other' then lost.sign end as churned_other,
    case when lost.kind = 'churned_unconfirmed' then lost.sign end as churned_unconfirmed
from lost
left join last_in_period
    on
        lost.is_first
        and lost.line_key = last_in_period.line_key
        and lost.at = last_in_period.at
        and lost.kind = last_in_period.kind;
