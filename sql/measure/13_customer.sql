-- When the customers of the settled chains were first seen and first paid, and what they brought since: what changed hands
-- and whoever is seen earlier than before takes all of it along.
create temp table touched_subscriber on commit drop as
select subscriber_key
from owner
union
select subscriber_key
from owner_before;

-- Who holds each chain that they hold, from a moment on to another; a purchase is whose it was just before.
create temp table holding on commit drop as
with chain as (
    select distinct identity.subscription_key
    from touched_subscriber
    inner join ledger.identity as identity using (subscriber_key)
    union
    select subscription_key
    from counted
)

select
    identity.subscription_key,
    identity.subscriber_key,
    identity.starts_at,
    lead(identity.starts_at, 1, 'infinity') over (
        partition by identity.subscription_key order by identity.starts_at
    ) as ends_at
from chain
inner join ledger.identity as identity using (subscription_key);

create index on holding (subscriber_key);
create index on holding (subscription_key);
analyze holding;

create temp table customer_after on commit drop as
with earliest as (
    select
        touched_subscriber.subscriber_key,
        min(chain.app_id) as app_id,
        min(chain.environment) as environment,
        min(bought.purchased_at) as seen_at,
        min(charged.purchased_at) as charged_at
    from touched_subscriber
    inner join holding using (subscriber_key)
    inner join fact.chain as chain using (subscription_key)
    cross join lateral (
        select period.purchased_at
        from ledger.period as period
        where
            period.subscription_key = holding.subscription_key
            and period.class <> 'family'
            and period.purchased_at > holding.starts_at
            and period.purchased_at <= holding.ends_at
        order by period.purchased_at
        limit 1
    ) as bought
    left join lateral (
        select period.purchased_at
        from ledger.period as period
        where
            period.subscription_key = holding.subscription_key
            and period.charge is not null
            and period.purchased_at > holding.starts_at
            and period.purchased_at <= holding.ends_at
        order by period.purchased_at
        limit 1
    ) as charged on true
    group by touched_subscriber.subscriber_key
)

select
    earliest.subscriber_key,
    earliest.app_id,
    earliest.environment,
    earliest.seen_at,
    earliest.charged_at,
    array(
        select period.purchased_at
        from holding
        inner join ledger.period as period
            on
                holding.subscription_key = period.subscription_key
                and period.purchased_at > holding.starts_at
                and period.purchased_at <= holding.ends_at
                and period.purchased_at < earliest.seen_at + interval '32 days'
        where holding.subscriber_key = earliest.subscriber_key and period.opening = 'trial_started'
        order by period.purchased_at
    ) as trials_at
from earliest;

create temp table customer_change on commit drop as
with before as (
    select customer.*
    from touched_subscriber
    inner join ledger.customer as customer using (subscriber_key)
)

select
    -1 as sign,
    before.*
from before
left join customer_after as after using (subscriber_key)
where (before is distinct from after)
union all
select
    1,
    after.*
from customer_after as after
left join before using (subscriber_key)
where (before is distinct from after);

delete from ledger.customer
using customer_change
where customer_change.subscriber_key = customer.subscriber_key;

insert into ledger.customer
select
    subscriber_key,
    app_id,
    environment,
    seen_at,
    charged_at,
    trials_at
from customer_change
where sign = 1
order by subscriber_key;

-- Chains all of whose money is another's now, or another day's customer's. Sums made anew read everything anyway.
create temp table reattributed on commit drop as
with changed_hands as (
    select subscription_key
    from owner_before
    full join (
        select owner.*
        from owner
        inner join settling using (subscription_key)
        where not settling.is_new
    ) as held using (subscription_key, starts_at)
    where owner_before.subscriber_key is distinct from held.subscriber_key
),

seen_elsewhen as (
    select before.subscriber_key
    from customer_change as before
    left join customer_change as after on before.subscriber_key = after.subscriber_key and after.sign = 1
    where before.sign = -1 and (before.seen_at is distinct from after.seen_at)
)

select subscription_key
from changed_hands
where not (select is_summed_anew from this_run)
union
select holding.subscription_key
from seen_elsewhen
inner join holding using (subscriber_key)
where not (select is_summed_anew from this_run);

create temp table held_entry on commit drop as
with held as (
    select
        true as is_after,
        holding.*
    from reattributed
    inner join holding using (subscription_key)
    union all
    select
        false,
        identity.subscription_key,
        identity.subscriber_key,
        identity.starts_at,
        lead(identity.starts_at, 1, 'infinity') over (
            partition by identity.subscription_key order by identity.starts_at
        )
    from (
        select
            owner_before.subscription_key,
            owner_before.subscriber_key,
            owner_before.starts_at
        from reattributed
        inner join owner_before using (subscription_key)
        union all
        -- Of chains that were not settled the holders are as they were.
        select
            holding.subscription_key,
            holding.subscriber_key,
            holding.starts_at
        from reattributed
        inner join holding using (subscription_key)
        left join settling using (subscription_key)
        where settling.subscription_key is null
    ) as identity
)

select
    held.is_after,
    held.subscriber_key,
    case when held.is_after then entry.sign else -entry.sign end as sign,
    entry.part,
    entry.charge,
    entry.amount,
    entry.currency,
    (entry.at at time zone this_run.zone)::date as day,
    (entry.purchased_at at time zone this_run.zone)::date as purchase_day
from held
inner join ledger.entry as entry
    on
        held.subscription_key = entry.subscription_key
        and entry.purchased_at > held.starts_at
        and entry.purchased_at <= held.ends_at
cross join this_run
where entry.charge is not null and (held.is_after or entry.run_id < this_run.run_id);

insert into wanted_rate
select distinct
    not is_after,
    currency,
    purchase_day
from held_entry
where amount <> 0 and currency is not null;

call measure.find_rates();

-- What was charged and returned, and whose it is or was.
create temp table customer_money on commit drop as
select
    true as is_after,
    holding.subscriber_key,
    counted.sign,
    counted.part,
    counted.amount,
    counted.converted,
    counted.day
from counted
inner join holding
    on
        counted.subscription_key = holding.subscription_key
        and counted.purchased_at > holding.starts_at
        and counted.purchased_at <= holding.ends_at
left join reattributed on counted.subscription_key = reattributed.subscription_key
where counted.charge is not null and reattributed.subscription_key is null
union all
select
    held_entry.is_after,
    held_entry.subscriber_key,
    held_entry.sign,
    held_entry.part,
    held_entry.amount,
    case
        when held_entry.amount is not null
            then reference.converted(held_entry.amount, conversion.per_euro, conversion.wanted_per_euro)
    end,
    held_entry.day
from held_entry
left join conversion
    on
        (not held_entry.is_after) = conversion.is_before
        and held_entry.currency = conversion.currency
        and held_entry.purchase_day = conversion.day;

-- As they were before this run and as they are now.
create temp table customer_known on commit drop as
select
    sign = 1 as is_after,
    subscriber_key,
    app_id,
    environment,
    seen_at
from customer_change
union all
select
    version.is_after,
    customer.subscriber_key,
    customer.app_id,
    customer.environment,
    customer.seen_at
from (
    select subscriber_key
    from customer_money
    except
    select subscriber_key
    from customer_change
) as unchanged
inner join ledger.customer as customer using (subscriber_key)
cross join (values (false), (true)) as version (is_after);

create index on customer_known (subscriber_key);
analyze customer_known;

-- On which days each subscriber was charged, before this run and now: distinct people are no sum over charges.
create temp table payer_day on commit drop as
with affected as (
    select distinct
        subscriber_key,
        day
    from customer_money
    where part = 0 and not (select is_summed_anew from this_run)
),

held_before as (
    select
        identity.subscriber_key,
        identity.subscription_key,
        identity.starts_at,
        lead(identity.starts_at, 1, 'infinity') over (
            partition by identity.subscription_key order by identity.starts_at
        ) as ends_at
    from owner_before as identity
    union all
    select
        holding.subscriber_key,
        holding.subscription_key,
        holding.starts_at,
        holding.ends_at
    from holding
    left join settling using (subscription_key)
    where settling.subscription_key is null
),

charged as (
    select
        1 as sign,
        affected.subscriber_key,
        affected.day
    from affected
    cross join this_run
    where
        exists (
            select
            from holding
            inner join ledger.entry as entry
                on
                    holding.subscription_key = entry.subscription_key
                    and entry.purchased_at > holding.starts_at
                    and entry.purchased_at <= holding.ends_at
            where
                holding.subscriber_key = affected.subscriber_key
                and entry.part = 0
                and entry.charge is not null
                and entry.purchased_at >= affected.day::timestamp at time zone this_run.zone
                and entry.purchased_at < (affected.day + 1)::timestamp at time zone this_run.zone
            group by entry.subscription_key, entry.transaction_id
            having sum(entry.sign) > 0
        )
    union all
    select
        -1,
        affected.subscriber_key,
        affected.day
    from affected
    cross join this_run
    where
        exists (
            select
            from held_before
            inner join ledger.entry as entry
                on
                    held_before.subscription_key = entry.subscription_key
                    and entry.purchased_at > held_before.starts_at
                    and entry.purchased_at <= held_before.ends_at
            where
                held_before.subscriber_key = affected.subscriber_key
                and entry.run_id < this_run.run_id
                and entry.part = 0
                and entry.charge is not null
                and entry.purchased_at >= affected.day::timestamp at time zone this_run.zone
                and entry.purchased_at < (affected.day + 1)::timestamp at time zone this_run.zone
            group by entry.subscription_key, entry.transaction_id
            having sum(entry.sign) > 0
        )
    union all
    -- Of all that there is.
    select
        1,
        subscriber_key,
        day
    from customer_money
    where part = 0 and (select is_summed_anew from this_run)
    group by subscriber_key, day
    having sum(sign) > 0
)

select *
from charged;

create temp table counted_customer on commit drop as
select
    customer.sign,
    customer.app_id,
    customer.environment,
    (customer.seen_at at time zone this_run.zone)::date as seen_on,
    (customer.charged_at at time zone this_run.zone)::date as charged_on,
    array(
        select (trial.at at time zone this_run.zone)::date
        from unnest(customer.trials_at) as trial (at)
    ) as trials_on
from (
    select *
    from customer_change
    where not (select is_summed_anew from this_run)
    union all
    select
        1,
        customer.*
    from ledger.customer as customer
    where (select is_summed_anew from this_run)
) as customer
cross join this_run;

create temp view daily_customer_contribution as
select
    app_id,
    environment,
    seen_on as day,
    sign as new_customers,
    0 as new_paying,
    sign * (seen_on + 7 >= any(trials_on))::integer as started_trial_7d,
    sign * (seen_on + 14 >= any(trials_on))::integer as started_trial_14d,
    sign * (seen_on + 30 >= any(trials_on))::integer as started_trial_30d,
    sign * coalesce(charged_on <= seen_on + 7, false)::integer as paid_7d,
    sign * coalesce(charged_on <= seen_on + 14, false)::integer as paid_14d,
    sign * coalesce(charged_on <= seen_on + 30, false)::integer as paid_30d,
    0 as payers
from counted_customer
union all
select
    app_id,
    environment,
    charged_on,
    0,
    sign,
    0,
    0,
    0,
    0,
    0,
    0,
    0
from counted_customer
where charged_on is not null
union all
select
    customer_known.app_id,
    customer_known.environment,
    payer_day.day,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    payer_day.sign
from payer_day
inner join customer_known
    on payer_day.subscriber_key = customer_known.subscriber_key and (payer_day.sign = 1) = customer_known.is_after;

call measure.post('daily_customer');

create temp view cohort_value_contribution as
with window_of as (
    select
        after,
        days
    from (
        values
        (0, 0), (1, 7), (8, 14), (15, 30), (31, 60), (61, 90), (91, 180), (181, 365)
    ) as windows (after, days)
),

event as (
    select
        app_id,
        environment,
        seen_on,
        0 as age,
        sign as subscribers,
        0 as payers,
        0::numeric as converted,
        0 as unconverted
    from counted_customer
    union all
    select
        app_id,
        environment,
        seen_on,
        charged_on - seen_on,
        0,
        sign,
        0,
        0
    from counted_customer
    where charged_on is not null
    union all
    select
        seen.app_id,
        seen.environment,
        (seen.seen_at at time zone this_run.zone)::date,
        customer_money.day - (seen.seen_at at time zone this_run.zone)::date,
        0,
        0,
        coalesce(customer_money.sign * customer_money.converted, 0),
        case
            when customer_money.part = 0 and customer_money.amount is not null and customer_money.converted is null
                then customer_money.sign
            else 0
        end
    from customer_money
    cross join this_run
    inner join customer_known as seen using (subscriber_key, is_after)
)

select
    event.app_id,
    event.environment,
    event.seen_on,
    (
        select max(window_of.days)
        from window_of
        where window_of.after <= event.age
    )::smallint as days,
    event.subscribers,
    event.payers,
    event.converted,
    event.unconverted
from event
where event.age between 0 and 365;

call measure.post('cohort_value');
