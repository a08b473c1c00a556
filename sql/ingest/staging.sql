-- What a batch brings, for the length of its transaction. Rows are inserted in the order of their keys, which is the same
-- for every ingester, so that two ingesters never wait for each other in a circle.
create temporary table if not exists staged_event (like ingest.event) on commit delete rows;
create temporary table if not exists staged_payload (like ingest.payload) on commit delete rows;
create temporary table if not exists staged_header (like ingest.protected_header) on commit delete rows;
create temporary table if not exists staged_chain (like fact.chain) on commit delete rows;
create temporary table if not exists staged_transaction (like fact.transaction) on commit delete rows;
create temporary table if not exists staged_renewal (like fact.renewal) on commit delete rows;
create temporary table if not exists staged_subscriber (like fact.subscriber) on commit delete rows;
create temporary table if not exists staged_link (like fact.link) on commit delete rows;
create temporary table if not exists staged_store_message (like fact.store_message) on commit delete rows;
create temporary table if not exists staged_alias (like fact.alias) on commit delete rows;
create temporary table if not exists staged_transfer (like fact.transfer) on commit delete rows;

-- The events of the batch that were not there before: what is announced.
create temporary table if not exists stored_event (
    subscription_key bigint not null,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    kind text not null,
    also text[] not null,
    occurred_at timestamptz not null,
    received_at timestamptz not null,
    environment text not null,
    transaction_id text,
    country text,
    amount bigint,
    currency text
) on commit delete rows;

-- The rows of a batch are few and are looked up by their keys, however large the tables are.
set random_page_cost = 1.1;
