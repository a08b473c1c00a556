-- Chains, those that continue one another as one, by the last movement of each day, week, month, quarter and year: which
-- ended it churned, and which of those were active when it began; with the MRR that they took, and what those that stayed
-- pay less. What the chains contributed before this run is taken back, what they do now is added.
create temp table moved_chain on commit drop as
with moved_line as (
    select chain.line_key
    from (
        select subscription_key
        from totalled
        where
            active <> 0
            or kind in ('renewed', 'product_changed')
            and (
                price < from_price
                or product_id is distinct from from_product_id
                or period is distinct from from_period
            )
        group by subscription_key
    ) as moved
    inner join ledger.chain as chain using (subscription_key)
    union
    select line_key
    from settling
    where line_key <> line_key_before
)

select
    chain.subscription_key,
    chain.line_key,
    coalesce(settling.line_key_before, chain.line_key) as line_key_before
from moved_line
inner join ledger.chain as chain using (line_key)
left join settling using (subscription_key)
where not (select is_summed_anew from this_run)
union all
select
    subscription_key,
    line_key,
    line_key
from ledger.chain
where (select is_summed_anew from this_run);

create temp table churn_entry on commit drop as
with version as (
    select *
    from (values (false), (true)) as versions (is_after)
    -- Sums that are made anew take back all that is stored, and need no account of what chains contributed.
    where is_after or not (select is_summed_anew from this_run)
),

-- A chain's movements as they were before this run and as they are now, without those that only change the row; and of
-- those that go on, what may cost less.
told as (
    select
        moved_chain.line_key,
        moved_chain.line_key_before,
        true as is_move,
        entry.*
    from moved_chain
    inner join ledger.entry as entry using (subscription_key)
    where entry.active <> 0 and entry.kind not in ('renewed', 'product_changed', 'moved_out', 'handed_over')
    union all
    select
        moved_chain.line_key,
        moved_chain.line_key_before,
        false,
        entry.*
    from moved_chain
    inner join ledger.entry as entry using (subscription_key)
    where
        entry.kind in ('renewed', 'product_changed')
        and (
            entry.price < entry.from_price
            or entry.product_id is distinct from entry.from_product_id
            or entry.period is distinct from entry.from_period
        )
        -- What is free may name no currency.
        and coalesce(entry.price_currency, entry.from_currency) = entry.from_currency
)

select
    version.is_after,
    case when version.is_after then told.line_key else told.line_key_before end as line_key,
    told.subscription_key,
    told.is_move,
    told.at,
    told.kind,
    told.sign,
    told.active,
    told.from_currency,
    (coalesce(told.from_purchased_at, told.purchased_at) at time zone this_run.zone)::date as from_day,
    ledger.monthly_price(
        told.from_price,
        coalesce(told.from_period, from_product.period, ledger.usual_length(told.from_days)),
        this_run.mrr_factors
    ) as from_mrr,
    case
        when not told.is_move
            then
                ledger.monthly_price(
                    told.price,
                    coalesce(told.period, product.period, ledger.usual_length(told.days)),
                    this_run.mrr_factors
                )
    end as mrr
from told
inner join version on version.is_after or told.run_id < (select run_id from this_run)
inner join fact.chain as chain using (subscription_key)
cross join this_run
left join reference.product as product on chain.app_id = product.app_id and told.product_id = product.product_id
left join reference.product as from_product
    on chain.app_id = from_product.app_id and told.from_product_id = from_product.product_id;

insert into wanted_rate
select distinct
    not is_after,
    from_currency,
    from_day
from churn_entry
where from_mrr <> 0 and from_currency is not null;

call measure.find_rates();

create temp table churn_move on commit drop as
with lost as (
    select
        churn_entry.*,
        case
            when churn_entry.is_move then churn_entry.from_mrr
            when churn_entry.mrr < churn_entry.from_mrr then churn_entry.from_mrr - churn_entry.mrr
        end as lost_mrr,
        conversion.per_euro,
        conversion.wanted_per_euro
    from churn_entry
    left join conversion
        on
            (not churn_entry.is_after) = conversion.is_before
            and churn_entry.from_currency = conversion.currency
            and churn_entry.from_day = conversion.day
),

netted as (
    select
        is_after,
        line_key,
        is_move,
        at,
        kind,
        sum(sign * active) as active,
        min(subscription_key) as subscription_key,
        sum(sign * reference.converted(lost_mrr, per_euro, wanted_per_euro)) as lost_mrr,
        sum(sign) filter (where lost_mrr <> 0 and (per_euro is null or wanted_per_euro is null)) as unconverted
    from lost
    where is_move or lost_mrr is not null
    group by is_after, line_key, is_move, at, kind
    having sum(sign) <> 0
)

select
    is_after,
    line_key,
    subscription_key,
    is_move,
    at at time zone (select zone from this_run) as at,
    kind,
    active,
    coalesce(lost_mrr, 0) as lost_mrr,
    coalesce(unconverted, 0) as unconverted,
    lag(at at time zone (select zone from this_run)) over moves as previous_at,
    lead(at at time zone (select zone from this_run)) over moves as next_at
from netted
-- At one moment a loss comes before what follows it.
window moves as (partition by is_after, line_key, is_move order by at, active);

create index on churn_move (line_key, is_after, at) where is_move;
analyze churn_move;

create temp view period_churn_contribution as
with lost as (
    select *
    from churn_move
    where is_move and starts_with(kind, 'churned_')
),

last_in_period as (
    select
        lost.*,
        period.period,
        date_trunc(period.period, lost.at) as starts_on
    from lost
    cross join (values ('day'), ('week'), ('month'), ('quarter'), ('year')) as period (period)
    where
        lost.next_at is null
        or date_trunc(period.period, lost.next_at) > date_trunc(period.period, lost.at)
),

judged as (
    select
        last_in_period.*,
        case
            when previous_at is null or date_trunc(period, previous_at) < starts_on then true
            else
                (
                    -- Active at the start: the first movement of the period is one out.
                    select first_move.active < 0
                    from churn_move as first_move
                    where
                        first_move.is_move
                        and first_move.line_key = last_in_period.line_key
                        and first_move.is_after = last_in_period.is_after
                        and first_move.at >= last_in_period.starts_on
                    order by first_move.at, first_move.active
                    limit 1
                )
        end as was_active
    from last_in_period
),

-- What those who were active when the period began, and stayed, pay less in it.
contracted as (
    select
        churn_move.*,
        period.period,
        date_trunc(period.period, churn_move.at) as starts_on
    from churn_move
    cross join (values ('day'), ('week'), ('month'), ('quarter'), ('year')) as period (period)
    cross join lateral (
        select before.active
        from churn_move as before
        where
            before.is_move
            and before.line_key = churn_move.line_key
            and before.is_after = churn_move.is_after
            and before.at < date_trunc(period.period, churn_move.at)
        order by before.at desc, before.active desc
        limit 1
    ) as at_start
    where not churn_move.is_move and at_start.active > 0
),

figures as (
    select
        subscription_key,
        is_after,
        period,
        starts_on,
        was_active::integer as churned,
        (not was_active)::integer as churned_same_period,
        case when was_active then lost_mrr else 0 end as churned_mrr,
        0 as contracted_mrr,
        case when was_active then unconverted else 0 end as unconverted
    from judged
    union all
    select
        subscription_key,
        is_after,
        period,
        starts_on,
        0,
        0,
        0,
        lost_mrr,
        unconverted
    from contracted
)

select
    chain.app_id,
    chain.environment,
    chain.store,
    figures.period,
    figures.starts_on::date as starts_on,
    version.sign * figures.churned as churned,
    version.sign * figures.churned_same_period as churned_same_period,
    version.sign * figures.churned_mrr as churned_mrr,
    version.sign * figures.contracted_mrr as contracted_mrr,
    version.sign * figures.unconverted as unconverted
from figures
inner join fact.chain as chain using (subscription_key)
cross join lateral (select case when figures.is_after then 1 else -1 end as sign) as version;

call measure.post('period_churn');
