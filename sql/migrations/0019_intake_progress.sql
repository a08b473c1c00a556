-- How far fetching history from the App Store has come, so that it goes on where it stopped and asks for nothing twice, and
-- how far streams have been read.
create table ingest.backfill_span (
    bundle_id text not null,
    environment text not null,
    from_at timestamptz not null,
    until_at timestamptz not null,
    pagination_token text,
    read_at timestamptz,
    primary key (bundle_id, environment, from_at, until_at),
    constraint span_is_not_empty check (from_at < until_at)
);
comment on table ingest.backfill_span is 'Spans of notification history that were asked for';
comment on column ingest.backfill_span.pagination_token is 'Where the next page of the span begins; null at its beginning';
comment on column ingest.backfill_span.read_at is 'When the span had been read to its end; null while it has not been';

create table ingest.backfill_pass (
    bundle_id text not null,
    environment text not null,
    started_at timestamptz not null,
    ended_at timestamptz,
    primary key (bundle_id, environment)
);
comment on table ingest.backfill_pass is
'The last time that the transactions of all chains were asked for; without an end it goes on';

create table ingest.backfill_chain (
    subscription_key bigint primary key,
    revision text,
    read_at timestamptz
);
comment on table ingest.backfill_chain is 'Chains whose transactions were asked for';
comment on column ingest.backfill_chain.revision is
'The App Store''s token of what was read: asked with it, it tells what has changed since';
comment on column ingest.backfill_chain.read_at is
'When the transactions had been read to their end or could not be; null while they have not been';

grant select, insert, update, delete on ingest.backfill_span, ingest.backfill_pass, ingest.backfill_chain
to tenure_writer;

-- How far streams of messages have been read, for who watches them: the broker keeps the offsets that count.
create table ingest.stream_partition (
    consumer_group text not null,
    topic text not null,
    partition bigint not null,
    next_offset bigint not null,
    end_offset bigint not null,
    messages bigint not null,
    rejections bigint not null,
    seen_at timestamptz not null,
    primary key (consumer_group, topic, partition)
);
comment on table ingest.stream_partition is 'Partitions of streams, by who reads them';
comment on column ingest.stream_partition.next_offset is 'The first message that was not stored yet';
comment on column ingest.stream_partition.end_offset is 'One more than the last message that the broker was known to have';
comment on column ingest.stream_partition.messages is 'Messages that were stored, those read twice included';
comment on column ingest.stream_partition.rejections is 'Refusals among what the messages held';
comment on column ingest.stream_partition.seen_at is 'When a consumer that has the partition last told';

grant select, insert, update, delete on ingest.stream_partition to tenure_writer;
