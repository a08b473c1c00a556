-- What a batch brings, for the length of its transaction. Rows are numbered in the order of their keys, which is the same
-- for every ingester: rows are inserted in that order, so that two ingesters never wait for each other in a circle.
create temporary table if not exists staged_event (
    ordinal integer not null,
    subscription_key bigint not null,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    kind text not null,
    also text [] not null,
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
    body json not null
) on commit delete rows;

-- The events of the batch that were not there before: what is announced.
create temporary table if not exists stored_event (
    subscription_key bigint not null,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    kind text not null,
    also text [] not null,
    occurred_at timestamptz not null,
    received_at timestamptz not null,
    environment text not null,
    transaction_id text,
    country text,
    amount bigint,
    currency text
) on commit delete rows;

create temporary table if not exists staged_payload (
    ordinal integer not null,
    subscription_key bigint not null,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    received_at timestamptz not null,
    body text not null,
    header_ids bigint [] not null
) on commit delete rows;

create temporary table if not exists staged_header (
    ordinal integer not null,
    header_id bigint not null,
    header text not null
) on commit delete rows;

create temporary table if not exists staged_chain (
    ordinal integer not null,
    subscription_key bigint not null,
    app_id bigint not null,
    store text not null,
    environment text not null,
    original_transaction_id text not null,
    app_transaction_id text
) on commit delete rows;

create temporary table if not exists staged_transaction (
    ordinal integer not null,
    app_id bigint not null,
    like fact.transaction
) on commit delete rows;

create temporary table if not exists staged_renewal (
    ordinal integer not null,
    app_id bigint not null,
    like fact.renewal
) on commit delete rows;

create temporary table if not exists staged_subscriber (
    ordinal integer not null,
    like fact.subscriber
) on commit delete rows;

create temporary table if not exists staged_link (
    ordinal integer not null,
    like fact.link
) on commit delete rows;
