-- Customers: when each was first seen, first paid and began trials, and what those first seen on one day brought.
create table ledger.customer (
    subscriber_key bigint primary key,
    app_id bigint not null,
    environment text not null,
    seen_at timestamptz not null,
    charged_at timestamptz,
    trials_at timestamptz[] not null
);
comment on table ledger.customer is
'Subscribers as the last run that settled a chain of theirs left them. A cache: it can be derived again';
comment on column ledger.customer.seen_at is
'The earliest purchase, free ones and one-time ones included, family-shared ones not';
comment on column ledger.customer.charged_at is 'The first charge; null when there was none';
comment on column ledger.customer.trials_at is 'When trials began, those of the first 32 days after the first purchase';

create table measure.daily_customer (
    app_id bigint not null,
    environment text not null,
    day date not null,
    new_customers bigint not null,
    new_paying bigint not null,
    started_trial_7d bigint not null,
    started_trial_14d bigint not null,
    started_trial_30d bigint not null,
    paid_7d bigint not null,
    paid_14d bigint not null,
    paid_30d bigint not null,
    payers bigint not null,
    primary key (app_id, environment, day)
);
comment on table measure.daily_customer is
'Subscribers first seen on a reporting day, with what they did within so many days; and those who first paid, and paid, on it';

create table measure.daily_customer_change (run_id bigint not null, like measure.daily_customer);
alter table measure.daily_customer_change add primary key (run_id, app_id, environment, day);
comment on table measure.daily_customer_change is 'What each run changed in measure.daily_customer';

create table measure.cohort_value (
    app_id bigint not null,
    environment text not null,
    seen_on date not null,
    days smallint not null,
    subscribers bigint not null,
    payers bigint not null,
    converted numeric not null,
    unconverted bigint not null,
    primary key (app_id, environment, seen_on, days)
);
comment on table measure.cohort_value is
'What subscribers first seen on a reporting day brought, by the shortest of the windows that holds it; a run changes it in place';
comment on column measure.cohort_value.days is 'Length of the window after the day: 0, 7, 14, 30, 60, 90, 180 or 365';
comment on column measure.cohort_value.subscribers is 'Subscribers first seen on the day, in the window of 0 days';
comment on column measure.cohort_value.payers is 'Those whose first charge is in this window and in none that is shorter';
comment on column measure.cohort_value.converted is 'Charges and refunds in micros of the reporting currency';
comment on column measure.cohort_value.unconverted is 'Charges of known price without a rate';

grant select, insert, update, delete on ledger.customer, measure.daily_customer, measure.daily_customer_change,
measure.cohort_value to tenure_writer;
grant select on measure.daily_customer, measure.daily_customer_change, measure.cohort_value
to tenure_reader, tenure_support;

-- Totals that cannot be read as they stood before keep no changes.
create or replace procedure measure.post(total text)
language plpgsql
as $$
declare
    keys constant text[] := measure.total_columns(total, true);
    numbers constant text[] := measure.total_columns(total, false);
    columns constant text := array_to_string(keys || numbers, ', ');
    -- What is summed anew replaces what is stored.
    stored constant text := format(
        'union all select %s, %s from measure.%I where (select is_summed_anew from this_run)',
        array_to_string(keys, ', '),
        (select string_agg('-' || number, ', ') from unnest(numbers) as number),
        total
    );
begin
    call measure.sum_contributions(total, stored);
    if to_regclass('measure.' || quote_ident(total || '_change')) is not null then
        execute format(
            'insert into measure.%1$I (run_id, %2$s) select (select run_id from this_run), %2$s from %3$I',
            total || '_change', columns, total || '_difference'
        );
    end if;
    execute format(
        'insert into measure.%1$I as total (%2$s) select %2$s from %3$I order by %4$s
        on conflict (%4$s) do update set %5$s',
        total,
        columns,
        total || '_difference',
        array_to_string(keys, ', '),
        (select string_agg(format('%1$s = total.%1$s + excluded.%1$s', number), ', ') from unnest(numbers) as number)
    );
    -- A row in which nothing is left is none: another book, or a fact that was corrected, has moved it elsewhere.
    execute format(
        'delete from measure.%I as total using %I as changed where %s and %s',
        total,
        total || '_difference',
        (select string_agg(format('total.%1$s = changed.%1$s', key), ' and ') from unnest(keys) as key),
        (select string_agg(format('total.%s = 0', number), ' and ') from unnest(numbers) as number)
    );
end
$$;
