-- What apps report of store messages that they hold back, and who was erased.
alter table fact.store_message add column is_pending boolean not null default false;
comment on table fact.store_message is
'App Store messages that clients report as shown, or as waiting to be shown, by the events that report them';
comment on column fact.store_message.shown_at is 'When it was shown, or when the client said that it waits';
comment on column fact.store_message.is_pending is 'Whether the client holds it back: it is due, and was not shown';

create table ingest.erased (
    erased_id bigint generated always as identity primary key,
    digest bytea not null unique,
    erased_at timestamptz not null
);
comment on table ingest.erased is
'Identifiers of people who were erased, as digests: what comes with one of them is stored without it';
comment on column ingest.erased.digest is 'SHA-256 over the app''s id and the identifier, joined by U+001F';

grant select, insert, update, delete on ingest.erased to tenure_writer;
