-- What came in: apps, events, the payloads they came as, and what was refused.
create schema ingest;
comment on schema ingest is 'What came in: apps, events, payloads, rejections';

create table ingest.app (
    app_id bigint primary key,
    app_key text not null unique,
    bundle_id text unique,
    created_at timestamptz not null
);
comment on table ingest.app is 'Apps, one row each';
comment on column ingest.app.app_id is
'Given once, from the first key: the first 8 bytes of its SHA-256. Never changes, so keys made from it never change';
comment on column ingest.app.app_key is 'The name in configuration, addresses and reports; may be renamed';

create table ingest.event (
    subscription_key bigint not null,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    kind text not null,
    also text[] not null,
    raw_kind text,
    occurred_at timestamptz not null,
    signed_at timestamptz not null,
    received_at timestamptz not null,
    store text not null,
    environment text not null,
    original_transaction_id text,
    transaction_id text,
    product_id text,
    country text,
    amount bigint,
    currency text,
    subscriber_id text,
    app_transaction_id text,
    body json not null,
    primary key (app_id, source, event_id, subscription_key),
    constraint amount_has_currency check (amount is null or currency is not null)
);
create index event_of_subscription on ingest.event (subscription_key, occurred_at);
create index event_received on ingest.event (received_at);
comment on table ingest.event is
'Events as decoded, one row per event of an app and a source. Events about no chain have a key of their own id';
comment on column ingest.event.amount is 'Money the event moved, in micros; a refund is negative';
comment on column ingest.event.body is 'The canonical event, its text';

create table ingest.protected_header (
    header_id bigint primary key,
    header text not null
);
comment on table ingest.protected_header is
'Protected headers of signed data (algorithm and certificates): half of every payload, and nearly always the same';
comment on column ingest.protected_header.header_id is 'The first 8 bytes of the SHA-256 of the header''s text';

create table ingest.payload (
    subscription_key bigint not null,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    received_at timestamptz not null,
    body text not null,
    header_ids bigint[] not null,
    primary key (app_id, source, event_id, subscription_key, received_at)
) partition by range (received_at);
comment on table ingest.payload is
'Payloads as they came, by month. Signed data has its protected headers replaced by references and can be put '
'together again byte for byte';

create table ingest.rejection (
    rejection_id bigint generated always as identity primary key,
    app_id bigint,
    source text not null,
    received_at timestamptz not null,
    reason text not null,
    place text not null,
    excerpt text
);
comment on table ingest.rejection is 'Input that was refused, why, and where it stood';
comment on column ingest.rejection.excerpt is 'Enough to find it again, without secrets and without signed data';

-- Only the owner of a partitioned table may add partitions; the program's role needs no more than this.
create function ingest.add_payload_month(received_at timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog
as $$
declare
    month_start timestamptz := date_trunc('month', received_at at time zone 'UTC') at time zone 'UTC';
    month_end timestamptz := (date_trunc('month', received_at at time zone 'UTC') + interval '1 month') at time zone 'UTC';
    partition_name text := 'payload_' || to_char(received_at at time zone 'UTC', 'YYYY_MM');
begin
    if to_regclass('ingest.' || partition_name) is null then
        -- Two ingesters may come to a new month at once.
        perform pg_advisory_xact_lock(hashtextextended('ingest.' || partition_name, 0));
        execute format(
            'create table if not exists ingest.%I partition of ingest.payload for values from (%L) to (%L)',
            partition_name, month_start, month_end);
    end if;
end
$$;
comment on function ingest.add_payload_month(timestamptz) is 'Makes the partition for a month''s payloads when it is missing';
revoke all on function ingest.add_payload_month(timestamptz) from public;
