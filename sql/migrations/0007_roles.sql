-- Roles that installations grant to logins. A login without CREATEROLE may run this where they exist already.
do $$
declare
    role_name text;
begin
    foreach role_name in array array['tenure_writer', 'tenure_reader', 'tenure_support'] loop
        if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
            begin
                execute format('create role %I nologin', role_name);
            exception
                -- Another database of the same server was migrated at the same moment.
                when duplicate_object or unique_violation then null;
            end;
        end if;
    end loop;
end
$$;

grant usage on schema ingest, fact, ledger, measure, forward, reference to tenure_writer;
grant select, insert, update, delete on all tables in schema ingest, fact, ledger, measure, forward, reference
to tenure_writer;
grant execute on function ingest.add_payload_month(timestamptz) to tenure_writer;
grant usage on sequence forward.claim_number to tenure_writer;
-- The program looks whether the database is of its version.
grant usage on schema tenure to tenure_writer;
grant select on all tables in schema tenure to tenure_writer;
-- Totals are figures: who reads reports may read them as they stood before.
grant usage on schema measure to tenure_reader, tenure_support;
grant select on all tables in schema measure to tenure_reader, tenure_support;
