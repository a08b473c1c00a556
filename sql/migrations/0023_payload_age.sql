-- Only the owner of a partitioned table may take partitions away; the program's role needs no more than this.
create function ingest.drop_payload_months(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog
as $$
declare
    month record;
    dropped bigint := 0;
begin
    for month in
        select partition.relname as name
        from pg_inherits as inheritance
        inner join pg_class as partition on inheritance.inhrelid = partition.oid
        where inheritance.inhparent = 'ingest.payload'::regclass
        order by partition.relname
    loop
        -- A month is over for all zones when the next one has begun in UTC, in which they are cut.
        if (to_date(substr(month.name, 9), 'YYYY_MM') + interval '1 month') at time zone 'UTC' <= before then
            execute format('drop table ingest.%I', month.name);
            dropped := dropped + 1;
        end if;
    end loop;
    return dropped;
end
$$;
comment on function ingest.drop_payload_months(timestamptz) is
'Removes the payloads of months that were over before a moment, and says how many months those were';
revoke all on function ingest.drop_payload_months(timestamptz) from public;
grant execute on function ingest.drop_payload_months(timestamptz) to tenure_writer;
