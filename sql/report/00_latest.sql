-- The views that people and dashboards read. A comment on a column begins with what may be done with it: a Dimension
-- groups; a Flow is summed; a Stock is read at the last day, an Opening at the first; a Rate and a Count of distinct
-- things are not added; a Ratio is that of the sums of the columns it names; Every is true where all its parts are; a
-- Detail belongs to its row.
grant usage on schema report to tenure_reader, tenure_support, tenure_writer;
comment on schema report is 'Reports: one view each, every column explained';

-- The last finished run: the moment and the settings that reports show.
drop view if exists measure.latest cascade;
create view measure.latest as
select
    run.run_id,
    run.as_of,
    book.settings ->> 'timezone' as zone,
    book.settings ->> 'mrr_factors' as mrr_factors,
    book.settings ->> 'currency' as currency,
    ((run.as_of - interval '1 microsecond') at time zone (book.settings ->> 'timezone'))::date as day
from measure.run as run
inner join measure.book as book using (book_id)
where run.outcome = 'done'
order by run.run_id desc
limit 1;
comment on view measure.latest is 'The last finished run: its as-of moment, its reporting zone and its last reporting day';
grant select on measure.latest to tenure_writer;

-- A session may say from which day on it asks, so that what was before is summed at once and not day by day.
drop view if exists measure.asked cascade;
create view measure.asked as
select nullif(current_setting('tenure.from', true), '')::date as day;
comment on view measure.asked is
'The first day that the session asks for, by the setting tenure.from; null where it asks for all';
grant select on measure.asked to tenure_writer;
