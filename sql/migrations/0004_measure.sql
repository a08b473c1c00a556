-- Runs and the daily totals they keep. All of it is local to one node.
create schema measure;
comment on schema measure is 'Runs, books and daily totals';

create table measure.book (
    book_id bigint generated always as identity primary key,
    settings jsonb not null,
    opened_at timestamptz not null
);
comment on table measure.book is 'Books: the settings under which totals are made. The newest is in force';

create table measure.run (
    run_id bigint generated always as identity primary key,
    command text not null,
    book_id bigint,
    started_at timestamptz not null,
    finished_at timestamptz,
    as_of timestamptz not null,
    facts bigint,
    settled bigint,
    transactions_read bigint,
    entries bigint,
    outcome text not null,
    error text
);
comment on table measure.run is 'Executions of measure, numbered; they finish one after another';

create table measure.daily_movement (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    offer text not null,
    day date not null,
    new bigint not null,
    trial_converted bigint not null,
    reactivated bigint not null,
    won_back bigint not null,
    recovered bigint not null,
    refund_reversed bigint not null,
    resumed bigint not null,
    moved_in bigint not null,
    churned_voluntary bigint not null,
    churned_billing bigint not null,
    churned_price_increase bigint not null,
    churned_product_unavailable bigint not null,
    churned_refunded bigint not null,
    churned_other bigint not null,
    churned_unconfirmed bigint not null,
    suspended bigint not null,
    pauses bigint not null,
    moved_out bigint not null,
    renewed bigint not null,
    upgraded bigint not null,
    downgraded bigint not null,
    crossgraded bigint not null,
    active bigint not null,
    trial bigint not null,
    grace bigint not null,
    retry bigint not null,
    set_to_cancel bigint not null,
    paused bigint not null,
    family bigint not null,
    primary key (app_id, environment, store, product_id, country, offer, day)
);
comment on table measure.daily_movement is
'Movements and changes of stocks, one row per reporting day, product, country and offer. Unknown product and country '
'are empty texts';

create table measure.daily_movement_change (run_id bigint not null, like measure.daily_movement);
alter table measure.daily_movement_change
add primary key (run_id, app_id, environment, store, product_id, country, offer, day);
comment on table measure.daily_movement_change is 'What each run changed in measure.daily_movement';

create table measure.monthly_closing (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    offer text not null,
    month date not null,
    active bigint not null,
    trial bigint not null,
    grace bigint not null,
    retry bigint not null,
    set_to_cancel bigint not null,
    paused bigint not null,
    family bigint not null,
    primary key (app_id, environment, store, product_id, country, offer, month)
);
comment on table measure.monthly_closing is
'Stocks at the ends of months in which they changed, so that a day''s stock is one closing and the days since';

create table measure.daily_revenue (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    offer text not null,
    currency text not null,
    kind text not null,
    day date not null,
    charges bigint not null,
    unpriced_charges bigint not null,
    gross numeric not null,
    refunded_charges bigint not null,
    unknown_refunds bigint not null,
    refunds numeric not null,
    refunded_charges_by_purchase_day bigint not null,
    unknown_refunds_by_purchase_day bigint not null,
    refunds_by_purchase_day numeric not null,
    tax numeric not null,
    untaxed bigint not null,
    commission numeric not null,
    uncommissioned bigint not null,
    proceeds numeric not null,
    unproceeded bigint not null,
    primary key (app_id, environment, store, product_id, country, offer, currency, kind, day)
);
comment on table measure.daily_revenue is
'Money in micros, one row per reporting day, product, country, offer, currency and kind of charge';
comment on column measure.daily_revenue.untaxed is 'Charges and refunds whose tax is not reported; likewise the next two';

create table measure.daily_revenue_change (run_id bigint not null, like measure.daily_revenue);
alter table measure.daily_revenue_change
add primary key (run_id, app_id, environment, store, product_id, country, offer, currency, kind, day);
comment on table measure.daily_revenue_change is 'What each run changed in measure.daily_revenue';

create table measure.daily_subscriber (
    app_id bigint not null,
    environment text not null,
    day date not null,
    active bigint not null,
    primary key (app_id, environment, day)
);
comment on table measure.daily_subscriber is 'Change of the number of active subscribers, one row per reporting day';

create table measure.daily_subscriber_change (run_id bigint not null, like measure.daily_subscriber);
alter table measure.daily_subscriber_change add primary key (run_id, app_id, environment, day);
comment on table measure.daily_subscriber_change is 'What each run changed in measure.daily_subscriber';

create table measure.period_churn (
    app_id bigint not null,
    environment text not null,
    store text not null,
    period text not null,
    starts_on date not null,
    churned bigint not null,
    churned_same_period bigint not null,
    primary key (app_id, environment, store, period, starts_on)
);
comment on table measure.period_churn is
'Chains whose last movement in a day, week, month, quarter or year was a churn, by whether they were active at its start';

create table measure.period_churn_change (run_id bigint not null, like measure.period_churn);
alter table measure.period_churn_change add primary key (run_id, app_id, environment, store, period, starts_on);
comment on table measure.period_churn_change is 'What each run changed in measure.period_churn';

create table measure.daily_mrr (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    currency text not null,
    day date not null,
    new numeric not null,
    reactivation numeric not null,
    expansion numeric not null,
    contraction numeric not null,
    churn numeric not null,
    suspension numeric not null,
    recovery numeric not null,
    moved_in numeric not null,
    moved_out numeric not null,
    unpriced bigint not null,
    primary key (app_id, environment, store, product_id, country, currency, day)
);
comment on table measure.daily_mrr is
'Changes of MRR in micros, signed, one row per reporting day, product, country and currency';
comment on column measure.daily_mrr.unpriced is
'Change of the number of active chains of unknown price, which belong to no currency';

create table measure.daily_mrr_change (run_id bigint not null, like measure.daily_mrr);
alter table measure.daily_mrr_change
add primary key (run_id, app_id, environment, store, product_id, country, currency, day);
comment on table measure.daily_mrr_change is 'What each run changed in measure.daily_mrr';

create table measure.monthly_mrr (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    currency text not null,
    month date not null,
    mrr numeric not null,
    unpriced bigint not null,
    primary key (app_id, environment, store, product_id, country, currency, month)
);
comment on table measure.monthly_mrr is 'MRR in micros at the ends of months in which it changed';

create table measure.daily_trial (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    day date not null,
    started bigint not null,
    converted bigint not null,
    expired bigint not null,
    cancelled bigint not null,
    running bigint not null,
    in_retry bigint not null,
    primary key (app_id, environment, store, product_id, country, day)
);
comment on table measure.daily_trial is
'What became of the trials that began on a reporting day, one row per day, product and country of the beginning';

create table measure.daily_trial_change (run_id bigint not null, like measure.daily_trial);
alter table measure.daily_trial_change
add primary key (run_id, app_id, environment, store, product_id, country, day);
comment on table measure.daily_trial_change is 'What each run changed in measure.daily_trial';

create table measure.daily_renewal (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    day date not null,
    due bigint not null,
    renewed bigint not null,
    recovered_in_grace bigint not null,
    recovered_in_retry bigint not null,
    changed_product bigint not null,
    lost bigint not null,
    open bigint not null,
    primary key (app_id, environment, store, product_id, country, day)
);
comment on table measure.daily_renewal is
'What became of the renewals that were due on a reporting day, one row per day, product and country of the period that ended';

create table measure.daily_renewal_change (run_id bigint not null, like measure.daily_renewal);
alter table measure.daily_renewal_change
add primary key (run_id, app_id, environment, store, product_id, country, day);
comment on table measure.daily_renewal_change is 'What each run changed in measure.daily_renewal';

create table measure.daily_failure (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    day date not null,
    entered_grace bigint not null,
    entered_retry bigint not null,
    recovered_in_grace bigint not null,
    recovered_in_retry bigint not null,
    lost bigint not null,
    open bigint not null,
    primary key (app_id, environment, store, product_id, country, day)
);
comment on table measure.daily_failure is
'What became of the charges that failed on a reporting day, one row per day, product and country of the period that ended';

create table measure.daily_failure_change (run_id bigint not null, like measure.daily_failure);
alter table measure.daily_failure_change
add primary key (run_id, app_id, environment, store, product_id, country, day);
comment on table measure.daily_failure_change is 'What each run changed in measure.daily_failure';

create table measure.posted_day (
    run_id bigint not null,
    app_id bigint not null,
    environment text not null,
    store text not null,
    day date not null,
    entries bigint not null,
    primary key (run_id, app_id, environment, store, day)
);
comment on table measure.posted_day is 'How many entries each run posted that belong to each reporting day';

-- Every table of totals is alike: its primary key says what a row is of, all other columns are numbers that add up, and what
-- a run changes of table T is kept in T_change under the run's number.
create function measure.total_columns(total text, is_key boolean) returns text[]
language sql stable
return (
    select array_agg(quote_ident(attribute.attname) order by attribute.attnum)
    from pg_catalog.pg_attribute as attribute
    inner join pg_catalog.pg_index as key on attribute.attrelid = key.indrelid and key.indisprimary
    where
        attribute.attrelid = ('measure.' || quote_ident(total))::regclass
        and attribute.attnum > 0
        and not attribute.attisdropped
        and (attribute.attnum = any(key.indkey)) = is_key
);
comment on function measure.total_columns(text, boolean) is
'The columns of a table of totals, quoted: those of its key, or the numbers';

create procedure measure.sum_contributions(total text, stored text)
language plpgsql
as $$
declare
    keys constant text := array_to_string(measure.total_columns(total, true), ', ');
    numbers constant text[] := measure.total_columns(total, false);
begin
    execute format(
        'create temp table %1$I on commit drop as
        select %2$s, %3$s
        from (select %2$s, %4$s from %5$I %6$s) as contribution
        group by %2$s
        having %7$s',
        total || '_difference',
        keys,
        (select string_agg(format('sum(%1$s) as %1$s', number), ', ') from unnest(numbers) as number),
        array_to_string(numbers, ', '),
        total || '_contribution',
        stored,
        (select string_agg(format('sum(%s) <> 0', number), ' or ') from unnest(numbers) as number)
    );
end
$$;
comment on procedure measure.sum_contributions (text, text) is
'Sums the rows of T_contribution by T''s key into T_difference, those in which something is left';

create procedure measure.post(total text)
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
    execute format(
        'insert into measure.%1$I (run_id, %2$s) select this_run.run_id, %2$s from %3$I cross join this_run',
        total || '_change', columns, total || '_difference'
    );
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
comment on procedure measure.post (text) is
'Adds the contributions of a run, T_contribution, to the totals T, and keeps what changed in T_change and T_difference';

create procedure measure.post_closings(closings text)
language plpgsql
as $$
declare
    keys constant text[] := array_remove(measure.total_columns(closings, true), 'month');
    numbers constant text[] := measure.total_columns(closings, false);
    same_row constant text := (
        select string_agg(format('difference.%1$s = closing.%1$s', key), ' and ') from unnest(keys) as key
    );
begin
    call measure.sum_contributions(closings, '');
    -- A month that had none begins with the closing of the month before it.
    execute format(
        'insert into measure.%1$I (%2$s, month, %3$s)
        select %4$s, difference.month, %5$s
        from %6$I as difference
        left join lateral (
            select closing.*
            from measure.%1$I as closing
            where %7$s and closing.month < difference.month
            order by closing.month desc
            limit 1
        ) as before on true
        on conflict do nothing',
        closings,
        array_to_string(keys, ', '),
        array_to_string(numbers, ', '),
        (select string_agg('difference.' || key, ', ') from unnest(keys) as key),
        (select string_agg(format('coalesce(before.%s, 0)', number), ', ') from unnest(numbers) as number),
        closings || '_difference',
        same_row
    );
    -- What changed in a month changed in all that follow.
    execute format(
        'update measure.%1$I as closing
        set %2$s
        from (
            select %3$s, closing.month, %4$s
            from %5$I as difference
            inner join measure.%1$I as closing on %6$s and difference.month <= closing.month
            group by %3$s, closing.month
        ) as difference
        where %6$s and difference.month = closing.month',
        closings,
        (select string_agg(format('%1$s = closing.%1$s + difference.%1$s', number), ', ') from unnest(numbers) as number),
        (select string_agg('closing.' || key, ', ') from unnest(keys) as key),
        (select string_agg(format('sum(difference.%1$s) as %1$s', number), ', ') from unnest(numbers) as number),
        closings || '_difference',
        same_row
    );
end
$$;
comment on procedure measure.post_closings (text) is
'Adds what a run changed in each month, T_contribution, to the closings T of that month and of all later ones';

create function measure.read_by(report text)
returns table (relation oid, schema_name text, name text, kind "char", depth integer)
language sql stable
begin atomic
    with recursive reads as (
        select
            ('report.' || quote_ident(report))::regclass::oid as relation,
            0 as depth
        union
        select
            dependency.refobjid,
            reads.depth + 1
        from reads
        inner join pg_catalog.pg_rewrite as rule on reads.relation = rule.ev_class
        inner join pg_catalog.pg_depend as dependency
            on
                rule.oid = dependency.objid
                and dependency.classid = 'pg_rewrite'::regclass
                and dependency.refclassid = 'pg_class'::regclass
                and reads.relation <> dependency.refobjid
    )

    select
        reads.relation,
        namespace.nspname::text,
        class.relname::text,
        class.relkind,
        max(reads.depth)
    from reads
    inner join pg_catalog.pg_class as class on reads.relation = class.oid
    inner join pg_catalog.pg_namespace as namespace on class.relnamespace = namespace.oid
    group by reads.relation, namespace.nspname, class.relname, class.relkind;
end;
comment on function measure.read_by(text) is
'The views and tables that a report is made of, itself included, and how many views deep each lies';

-- How the books stood after an earlier run: the sums of what runs up to it changed.
create procedure measure.restore(report text, known_run bigint)
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
    definitions text[];
    -- Totals and their closings can be restored; an app's name is what it is now, and the run is the one asked for.
    is_made_of_totals constant boolean := (
        select
            bool_or(to_regclass('measure.' || quote_ident(name || '_change')) is not null)
            and bool_and(
                (schema_name, name) = ('ingest', 'app')
                or schema_name = 'measure' and (
                    name in ('run', 'book', 'monthly_closing', 'monthly_mrr')
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
        select
            name,
            array_to_string(measure.total_columns(name, true), ', ') as keys,
            measure.total_columns(name, false) as numbers
        from measure.read_by(report)
        where kind = 'r' and to_regclass('measure.' || quote_ident(name || '_change')) is not null
        union
        -- What closings are the sums of.
        select
            source,
            array_to_string(measure.total_columns(source, true), ', '),
            measure.total_columns(source, false)
        from measure.read_by(report)
        inner join (values ('monthly_closing', 'daily_movement'), ('monthly_mrr', 'daily_mrr')) as sources (name, source)
            using (name)
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
    if to_regclass('pg_temp.daily_movement') is not null then
        create temp table monthly_closing (like measure.monthly_closing including all);
        insert into pg_temp.monthly_closing
        select
            app_id,
            environment,
            store,
            product_id,
            country,
            offer,
            date_trunc('month', day)::date,
            sum(sum(active)) over months,
            sum(sum(trial)) over months,
            sum(sum(grace)) over months,
            sum(sum(retry)) over months,
            sum(sum(set_to_cancel)) over months,
            sum(sum(paused)) over months,
            sum(sum(family)) over months
        from pg_temp.daily_movement
        group by app_id, environment, store, product_id, country, offer, date_trunc('month', day)::date
        window months as (
            partition by app_id, environment, store, product_id, country, offer order by date_trunc('month', day)::date
        );
    end if;
    if to_regclass('pg_temp.daily_mrr') is not null then
        create temp table monthly_mrr (like measure.monthly_mrr including all);
        insert into pg_temp.monthly_mrr
        select
            app_id,
            environment,
            store,
            product_id,
            country,
            currency,
            date_trunc('month', day)::date,
            sum(
                sum(
                    new + reactivation + expansion + contraction + churn + suspension + recovery + moved_in + moved_out
                )
            ) over months,
            sum(sum(unpriced)) over months
        from pg_temp.daily_mrr
        group by app_id, environment, store, product_id, country, currency, date_trunc('month', day)::date
        window months as (
            partition by app_id, environment, store, product_id, country, currency
            order by date_trunc('month', day)::date
        );
    end if;
    create temp table latest as
    select
        run.run_id,
        run.as_of,
        book.settings ->> 'timezone' as zone,
        book.settings ->> 'mrr_factors' as mrr_factors,
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
comment on procedure measure.restore (text, bigint) is
'Makes, as temporary views of the session, a report and what it reads as they stood after a run';
