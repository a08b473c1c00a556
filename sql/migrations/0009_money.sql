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
alter table ledger.period
add column served interval not null default interval '0',
add column served_until timestamptz;
comment on column ledger.period.served is
'Paid service before the period since the last gap of more than 60 days';
comment on column ledger.period.served_until is 'The end of all paid service so far, the period included';

-- The share of a charge of nothing is nothing where nothing is returned of it.
create or replace function ledger.share(whole bigint, part bigint, of_total bigint) returns bigint
language sql immutable parallel safe
return case
    when of_total <> 0 then ledger.half_even(whole::numeric * part / of_total)::bigint
    when part = 0 and whole is not null then 0
end;
comment on function ledger.share(bigint, bigint, bigint) is
'The share part / of_total of an amount in micros, rounded half to even; null where the total is unknown, and of 0 but for 0';

-- Of what is in the books already: the periods of a line one after the other.
with ordered as (
    select
        period.subscription_key,
        period.purchased_at,
        period.transaction_id,
        lag(period.purchased_at) over (
            partition by chain.line_key, period.class order by period.purchased_at, period.transaction_id
        ) as from_purchased_at
    from ledger.period as period
    inner join ledger.chain as chain using (subscription_key)
    where not period.is_empty
)

update ledger.entry
set from_purchased_at = ordered.from_purchased_at
from ordered
where
    entry.part = 0
    and (entry.from_product_id is not null or entry.from_price is not null)
    and ordered.subscription_key = entry.subscription_key
    and ordered.purchased_at = entry.purchased_at
    and ordered.transaction_id = entry.transaction_id
    and entry.kind <> 'charged';

-- Totals in the reporting currency, and with estimates where tax and commission are not reported.
alter table measure.daily_revenue
add column estimated bigint not null default 0,
add column converted numeric not null default 0,
add column unconverted bigint not null default 0,
add column unconverted_refunds bigint not null default 0;
alter table measure.daily_revenue_change
add column estimated bigint not null default 0,
add column converted numeric not null default 0,
add column unconverted bigint not null default 0,
add column unconverted_refunds bigint not null default 0;
comment on column measure.daily_revenue.estimated is 'Charges and refunds whose proceeds are estimated';
comment on column measure.daily_revenue.converted is
'Charges and refunds in micros of the reporting currency, at the rates of the purchase days';
comment on column measure.daily_revenue.unconverted is 'Charges of known price without a rate; likewise the next';

alter table measure.daily_mrr
add column mrr numeric not null default 0,
add column converted numeric not null default 0,
add column unconverted bigint not null default 0;
alter table measure.daily_mrr_change
add column mrr numeric not null default 0,
add column converted numeric not null default 0,
add column unconverted bigint not null default 0;
update measure.daily_mrr
set mrr = new + reactivation + expansion + contraction + churn + suspension + recovery + moved_in + moved_out;
update measure.daily_mrr_change
set mrr = new + reactivation + expansion + contraction + churn + suspension + recovery + moved_in + moved_out;
comment on column measure.daily_mrr.mrr is 'The sum of the nine before it';
alter table measure.monthly_mrr
add column converted numeric not null default 0,
add column unconverted bigint not null default 0;
comment on column measure.daily_mrr.converted is
'Change of MRR in micros of the reporting currency, at the rates of the purchase days';
comment on column measure.daily_mrr.unconverted is 'Change of the number of active chains whose MRR has no rate';

alter table measure.period_churn
add column churned_mrr numeric not null default 0,
add column contracted_mrr numeric not null default 0,
add column unconverted bigint not null default 0;
alter table measure.period_churn_change
add column churned_mrr numeric not null default 0,
add column contracted_mrr numeric not null default 0,
add column unconverted bigint not null default 0;
comment on column measure.period_churn.churned_mrr is
'Converted MRR, in micros, that the chains counted in churned had when they churned';
comment on column measure.period_churn.contracted_mrr is
'Converted contraction, in micros, of chains that were active at the start';
comment on column measure.period_churn.unconverted is 'Churns and contractions of known price without a rate';

create function reference.converted(amount bigint, per_euro numeric, wanted_per_euro numeric) returns bigint
language sql immutable parallel safe
return case when amount = 0 then 0 else ledger.half_even(amount * wanted_per_euro / per_euro)::bigint end;
comment on function reference.converted(bigint, numeric, numeric) is
'An amount in micros converted by what one euro is in its currency and in the other, rounded half to even; '
'null without a rate, but for 0';

create procedure measure.find_rates()
language plpgsql
as $$
begin
    -- The last day of publication up to the day; before the run, of the rates as they were then.
    insert into conversion
    select
        wanted.is_before,
        wanted.currency,
        wanted.day,
        case
            when wanted.currency = 'EUR' or wanted.currency = this_run.currency then 1
            when wanted.is_before then before.per_euro
            else now.per_euro
        end,
        case
            when this_run.currency = 'EUR' or wanted.currency = this_run.currency then 1
            when wanted.is_before then target_before.per_euro
            else target_now.per_euro
        end
    from wanted_rate as wanted
    cross join this_run
    left join lateral (
        select rate.per_euro
        from reference.rate as rate
        where not wanted.is_before and rate.currency = wanted.currency and rate.day <= wanted.day
        order by rate.day desc
        limit 1
    ) as now on true
    left join lateral (
        select rate.per_euro
        from reference.rate as rate
        where not wanted.is_before and rate.currency = this_run.currency and rate.day <= wanted.day
        order by rate.day desc
        limit 1
    ) as target_now on true
    left join lateral (
        select rate.per_euro
        from rate_before as rate
        where wanted.is_before and rate.currency = wanted.currency and rate.day <= wanted.day
        order by rate.day desc
        limit 1
    ) as before on true
    left join lateral (
        select rate.per_euro
        from rate_before as rate
        where wanted.is_before and rate.currency = this_run.currency and rate.day <= wanted.day
        order by rate.day desc
        limit 1
    ) as target_before on true
    on conflict do nothing;

    delete from wanted_rate;

    analyze conversion;
end
$$;
comment on procedure measure.find_rates () is
'Finds what the pairs of currency and day in wanted_rate convert with, into conversion, for the steps of a run';

create index entry_reprices on ledger.entry (subscription_key, at)
where
kind in ('renewed', 'product_changed')
and (price < from_price or product_id is distinct from from_product_id or period is distinct from from_period);

-- How the books stood after an earlier run: the sums of what runs up to it changed.
create or replace procedure measure.restore(report text, known_run bigint)
language plpgsql
as $$
declare
    total record;
    view record;
    views constant jsonb := (
        select jsonb_agg(jsonb_build_object('name', name, 'relation', relation) order by depth desc)
        from measure.read_by(report)
        where kind = 'v' and name <> 'latest'
    );
    -- Closings are the sums, month by month, of the totals they are named with here.
    sources constant jsonb := '{"monthly_closing": "daily_movement", "monthly_mrr": "daily_mrr"}';
    definitions text[];
    -- Totals and their closings can be restored; an app's name is what it is now, and the run is the one asked for.
    is_made_of_totals constant boolean := (
        select
            bool_or(to_regclass('measure.' || quote_ident(name || '_change')) is not null)
            and bool_and(
                (schema_name, name) = ('ingest', 'app')
                or schema_name = 'measure' and (
                    name in ('run', 'book')
                    or sources ? name
                    or to_regclass('measure.' || quote_ident(name || '_change')) is not null
                )
            )
        from measure.read_by(report)
        where kind = 'r'
    );
begin
    if is_made_of_totals is not true then
        raise exception '% is not made of daily totals', report using errcode = 'feature_not_supported';
    end if;
    -- Names that the path finds are written without their schema, so that they can mean the restored ones below.
    perform set_config('search_path', 'measure, report', true);
    definitions := array(
        select format('create temp view %I as %s', item ->> 'name', pg_get_viewdef((item ->> 'relation')::oid))
        from jsonb_array_elements(views) with ordinality as items (item, nth)
        order by nth
    );
    for total in
        with needed as (
            select coalesce(sources ->> name, name) as name
            from measure.read_by(report)
            where kind = 'r'
        )

        select distinct
            name,
            array_to_string(measure.total_columns(name, true), ', ') as keys,
            measure.total_columns(name, false) as numbers
        from needed
        where to_regclass('measure.' || quote_ident(name || '_change')) is not null
    loop
        execute format('create temp table %1$I (like measure.%1$I including all)', total.name);
        execute format(
            'insert into pg_temp.%1$I (%2$s, %3$s)
            select %2$s, %4$s from measure.%5$I where run_id <= %6$s group by %2$s having %7$s',
            total.name,
            total.keys,
            array_to_string(total.numbers, ', '),
            (select string_agg(format('sum(%s)', number), ', ') from unnest(total.numbers) as number),
            total.name || '_change',
            known_run,
            (select string_agg(format('sum(%s) <> 0', number), ' or ') from unnest(total.numbers) as number)
        );
        execute format('analyze pg_temp.%I', total.name);
    end loop;
    for total in
        select
            closings.name,
            closings.source,
            array_to_string(array_remove(measure.total_columns(closings.name, true), 'month'), ', ') as keys,
            measure.total_columns(closings.name, false) as numbers
        from measure.read_by(report) as reads
        inner join jsonb_each_text(sources) as closings (name, source) using (name)
    loop
        execute format('create temp table %1$I (like measure.%1$I including all)', total.name);
        execute format(
            'insert into pg_temp.%1$I (%2$s, month, %3$s)
            select %2$s, date_trunc(''month'', day)::date, %4$s
            from pg_temp.%5$I
            group by %2$s, date_trunc(''month'', day)::date
            window months as (partition by %2$s order by date_trunc(''month'', day)::date)',
            total.name,
            total.keys,
            array_to_string(total.numbers, ', '),
            (select string_agg(format('sum(sum(%s)) over months', number), ', ') from unnest(total.numbers) as number),
            total.source
        );
    end loop;
    create temp table latest as
    select
        run.run_id,
        run.as_of,
        book.settings ->> 'timezone' as zone,
        book.settings ->> 'mrr_factors' as mrr_factors,
        book.settings ->> 'currency' as currency,
        ((run.as_of - interval '1 microsecond') at time zone (book.settings ->> 'timezone'))::date as day
    from measure.run as run
    inner join measure.book as book using (book_id)
    where run.run_id = known_run;
    perform set_config('search_path', 'pg_temp, measure, report', true);
    for view in select definition from unnest(definitions) as definition loop
        execute view.definition;
    end loop;
end
$$;
