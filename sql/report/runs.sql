-- When was measured, how much, and how did it end?
create view report.runs as
select
    null::text as app,
    null::text as environment,
    null::text as store,
    run_id,
    command,
    started_at,
    finished_at,
    as_of,
    facts,
    settled,
    entries,
    trim_scale(round(extract(epoch from finished_at - started_at), 3)) as seconds,
    case when outcome = 'running' and finished_at is null then 'unfinished' else outcome end as outcome
from measure.run;

comment on view report.runs is
'Runs of measure, one row each';
comment on column report.runs.app is 'Dimension: null';
comment on column report.runs.environment is 'Dimension: null';
comment on column report.runs.store is 'Dimension: null';
comment on column report.runs.run_id is 'Dimension: its number';
comment on column report.runs.command is 'Dimension: the command that ran it';
comment on column report.runs.started_at is 'Detail: when it began';
comment on column report.runs.finished_at is 'Detail: when it ended; null while it runs';
comment on column report.runs.as_of is 'Detail: what happened before this moment counts';
comment on column report.runs.facts is 'Detail: facts that no run had read before';
comment on column report.runs.settled is 'Detail: subscriptions settled';
comment on column report.runs.entries is 'Detail: entries posted';
comment on column report.runs.seconds is 'Detail: how long it took';
comment on column report.runs.outcome is
'Dimension: done, failed, killed, or unfinished while it runs or after it was killed, until the next one';

grant select on report.runs to tenure_reader, tenure_support, tenure_writer;
