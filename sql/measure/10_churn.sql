-- Chains, those that continue one another as one, by the last movement of each day, week, month, quarter and year: which
-- ended it churned, and which of those were active when it began. What the chains contributed before this run is taken
-- back, what they do now is added.
create temp table moved_chain on commit drop as
with moved_line as (
    select settling.line_key
    from settling
    where
        settling.line_key <> settling.line_key_before
        or exists (
            select from posting
            where posting.subscription_key = settling.subscription_key and posting.active <> 0
        )
    group by settling.line_key
)

select
    settling.subscription_key,
    settling.line_key,
    coalesce(settling.line_key_before, settling.line_key) as line_key_before
from moved_line
inner join settling using (line_key)
where not (select is_summed_anew from this_run)
union all
select
    subscription_key,
    line_key,
    line_key
from ledger.chain
where (select is_summed_anew from this_run);

create temp table churn_move on commit drop as
with version as (
    select *
    from (values (false), (true)) as versions (is_after)
    -- Sums that are made anew take back all that is stored, and need no account of what chains contributed.
    where is_after or not (select is_summed_anew from this_run)
),

-- A chain's movements as they were before this run and as they are now, without those that only change the row.
netted as (
    select
        version.is_after,
        case when version.is_after then moved_chain.line_key else moved_chain.line_key_before end as line_key,
        entry.at,
        entry.kind,
        sum(entry.sign * entry.active) as active,
        min(entry.subscription_key) as subscription_key
    from moved_chain
    inner join ledger.entry as entry using (subscription_key)
    inner join version on version.is_after or entry.run_id < (select run_id from this_run)
    where entry.active <> 0 and entry.kind not in ('renewed', 'product_changed', 'moved_out', 'handed_over')
    group by
        version.is_after,
        case when version.is_after then moved_chain.line_key else moved_chain.line_key_before end,
        entry.at,
        entry.kind
    having sum(entry.sign) <> 0
)

select
    is_after,
    line_key,
    subscription_key,
    at at time zone (select zone from this_run) as at,
    kind,
    active,
    lag(at at time zone (select zone from this_run)) over moves as previous_at,
    lead(at at time zone (select zone from this_run)) over moves as next_at
from netted
-- At one moment a loss comes before what follows it.
window moves as (partition by is_after, line_key order by at, active);

create index on churn_move (line_key, is_after, at);
analyze churn_move;

create temp view period_churn_contribution as
with lost as (
    select *
    from churn_move
    where starts_with(kind, 'churned_')
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
                        first_move.line_key = last_in_period.line_key
                        and first_move.is_after = last_in_period.is_after
                        and first_move.at >= last_in_period.starts_on
                    order by first_move.at, first_move.active
                    limit 1
                )
        end as was_active
    from last_in_period
)

select
    chain.app_id,
    chain.environment,
    chain.store,
    judged.period,
    judged.starts_on::date as starts_on,
    case when judged.is_after then 1 else -1 end * judged.was_active::integer as churned,
    case when judged.is_after then 1 else -1 end * (not judged.was_active)::integer as churned_same_period
from judged
inner join fact.chain as chain using (subscription_key);

call measure.post('period_churn');
