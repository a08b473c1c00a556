-- The ends of months are summed from the days when they are asked for: nothing keeps them any more.
drop table measure.monthly_closing cascade;
drop table measure.monthly_mrr cascade;
drop procedure measure.post_closings(text);

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
    definitions text[];
    -- Totals can be restored; an app's name is what it is now, and the run is the one asked for.
    is_made_of_totals constant boolean := (
        select
            bool_or(to_regclass('measure.' || quote_ident(name || '_change')) is not null)
            and bool_and(
                (schema_name, name) = ('ingest', 'app')
                or schema_name = 'measure' and (
                    name in ('run', 'book')
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
