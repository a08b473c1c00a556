-- Money in one currency, and what is left of it: exchange rates, tax rates, and the totals that they make.
create table reference.rate (
    currency text not null,
    day date not null,
    per_euro numeric,
    primary key (currency, day),
    constraint rate_is_positive check (per_euro > 0)
);
comment on table reference.rate is
'Exchange rates as published, one row per currency and day of publication; a rate holds until the next one';
comment on column reference.rate.per_euro is 'Units of the currency for one euro; null from when it is no longer published';

create table reference.rate_change (
    currency text not null,
    day date not null,
    had_rate boolean not null,
    per_euro numeric,
    primary key (currency, day)
);
comment on table reference.rate_change is
'Rates that changed since the last run, as they were in it: the next run takes back what was converted with them';
comment on column reference.rate_change.had_rate is 'Whether there was a row for this currency and day';

create table reference.tax_rate (
    country text not null,
    from_day date not null,
    rate numeric not null,
    primary key (country, from_day),
    constraint tax_is_a_share check (rate >= 0 and rate < 1)
);
comment on table reference.tax_rate is
'Tax as a share of the price paid, one row per storefront and first day: 20 % VAT on top of the net price is 0.166667';

grant select, insert, update, delete on reference.rate, reference.rate_change, reference.tax_rate to tenure_writer;

-- Which rate a change of price converts with, and whether the store takes its lower commission.
alter table ledger.entry
add column from_purchased_at timestamptz,
add column is_past_first_year boolean not null default false;
comment on column ledger.entry.from_purchased_at is
'When the period before was bought: its price converts at the rate of that day; null where none is left by this entry, and '
'where an end leaves the entry''s own period';
comment on column ledger.entry.is_past_first_year is
'Whether a charge came after a year of paid service, without gaps of more than 60 days';
alter table ledger.period add column served interval not null default interval '0';
comment on column ledger.period.served is
'Paid service before the period since the last gap of more than 60 days';
