-- Takes the exchange rates that changed since the last run, with the entries that were converted with what they were: they
-- are counted again, taken back as they were and added as they are. A purchase converts at the rate of its day; a later rate changes nothing about it.
create temp table changed_rate on commit drop as
with taken as (
    delete from reference.rate_change
    returning currency, day, had_rate, per_euro
)

select *
from taken;

-- The rates that the last run knew.
create temp view rate_before as
select
    rate.currency,
    rate.day,
    rate.per_euro
from reference.rate as rate
left join changed_rate as changed using (currency, day)
where changed.currency is null
union all
select
    currency,
    day,
    per_euro
from changed_rate
where had_rate;

-- What is asked for and what was found: how many units of a currency, and of the reporting currency, one euro is.
create temp table wanted_rate (
    is_before boolean not null,
    currency text not null,
    day date not null
) on commit drop;

create temp table conversion (
    is_before boolean not null,
    currency text not null,
    day date not null,
    per_euro numeric,
    wanted_per_euro numeric,
    primary key (is_before, currency, day)
) on commit drop;

create temp table recounted on commit drop as
select entry_line.*
from ledger.entry_line
cross join this_run
cross join (select min(day) as day from changed_rate) as first_change
where
    not this_run.is_summed_anew
    and (entry_line.amount <> 0 or entry_line.price <> 0 or entry_line.from_price <> 0)
    -- What happened to a period happened after it was bought.
    and entry_line.at >= first_change.day::timestamp at time zone this_run.zone
    and greatest(entry_line.purchased_at, entry_line.from_purchased_at)
    >= first_change.day::timestamp at time zone this_run.zone;
