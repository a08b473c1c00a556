-- What is to be explained: the figures of one day or longer period of the reporting zone.
--
-- The files of this folder are read together, each a common table expression by its file's name. asked, entry, directed,
-- mrr_leg and outcome are what the others are made of. Each of the others explains a report, or some columns of reports:
-- it gives the entries behind the figures, its dimensions, and of each figure what the entry adds to it. The program leaves
-- out what adds nothing, and checks that the rest adds up to the report. A figure that a report gets is to be added here too.
-- Where a step of a run is a query, "select * from step.NAME" stands for its text.
--
-- $1 is a day, $2 the kind of period that it is in, $3 whether entries are wanted that were reversed later, and what
-- reversed them.
select
    $3::boolean as wants_all,
    latest.zone,
    latest.mrr_factors,
    latest.currency,
    (
        select book.settings -> 'commission'
        from measure.run as run
        inner join measure.book as book using (book_id)
        where run.run_id = latest.run_id
    ) as commission,
    date_trunc($2::text, $1::date::timestamp) at time zone latest.zone as starts_at,
    (
        date_trunc($2::text, $1::date::timestamp)
        + case $2::text when 'quarter' then interval '3 months' else ('1 ' || $2::text)::interval end
    ) at time zone latest.zone as ends_at
from measure.latest as latest;
