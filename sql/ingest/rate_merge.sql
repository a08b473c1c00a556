-- Makes the rates what the file says. What they were is kept for the next run, which has converted with the first of
-- several values since the last one.
insert into reference.rate_change (currency, day, had_rate, per_euro)
select
    changed.currency,
    changed.day,
    changed.had_rate,
    changed.had_per_euro
from rate_difference as changed
on conflict (currency, day) do nothing;

delete from reference.rate as stored
using rate_difference as changed
where
    stored.currency = changed.currency
    and stored.day = changed.day
    and not changed.is_row;

insert into reference.rate (currency, day, per_euro)
select
    changed.currency,
    changed.day,
    changed.per_euro
from rate_difference as changed
where changed.is_row
on conflict (currency, day) do update set per_euro = excluded.per_euro;
