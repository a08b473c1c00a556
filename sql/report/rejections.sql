-- What was refused, why, and where did it stand? Needs no run of measure.
create view report.rejections as
select
    app.app_key as app,
    null::text as environment,
    null::text as store,
    rejection.rejection_id,
    rejection.source,
    rejection.received_at,
    rejection.reason,
    rejection.place,
    rejection.excerpt
from ingest.rejection as rejection
left join ingest.app as app using (app_id);

comment on view report.rejections is
'Rejections, one row per piece of input that was refused';
comment on column report.rejections.app is 'Dimension: the app''s key; null where it was not known';
comment on column report.rejections.environment is 'Dimension: null';
comment on column report.rejections.store is 'Dimension: null';
comment on column report.rejections.rejection_id is 'Dimension: its number';
comment on column report.rejections.source is 'Dimension: the stream it came by';
comment on column report.rejections.received_at is 'Detail: when it came';
comment on column report.rejections.reason is 'Dimension: why it was refused';
comment on column report.rejections.place is 'Detail: file and line, -:line for standard input, or http';
comment on column report.rejections.excerpt is 'Detail: enough to find it again, without secrets';

grant select on report.rejections to tenure_reader, tenure_support, tenure_writer;
