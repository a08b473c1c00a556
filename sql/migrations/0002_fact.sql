-- What events said: every version of every transaction and renewal status, nothing overwritten.
create schema fact;
comment on schema fact is 'What events said, all versions of it';

create table fact.chain (
    subscription_key bigint primary key,
    app_id bigint not null,
    store text not null,
    environment text not null,
    original_transaction_id text not null,
    app_transaction_id text
);
comment on table fact.chain is
'Chains, one row each: a subscription''s life at a store. The identity stands beside the key and is checked';
comment on column fact.chain.subscription_key is
'The first 8 bytes, signed and big-endian, of the SHA-256 over app id, store, environment and original transaction id '
'joined by U+001F';
comment on column fact.chain.app_transaction_id is 'The least of those that events named, whatever their order';

create table fact.transaction (
    subscription_key bigint not null,
    transaction_id text not null,
    source text not null,
    signed_at timestamptz not null,
    digest uuid not null,
    source_rank smallint not null,
    stated bigint not null,
    event_id text not null,
    type text,
    product_id text,
    group_id text,
    period text,
    purchased_at timestamptz,
    expires_at timestamptz,
    price bigint,
    currency text,
    country text,
    reason text,
    ownership text,
    offer_type text,
    offer_id text,
    offer_discount text,
    offer_period text,
    revoked_at timestamptz,
    revocation text,
    refund bigint,
    tax bigint,
    commission bigint,
    proceeds bigint,
    is_upgraded boolean,
    quantity bigint,
    primary key (subscription_key, transaction_id, source, signed_at, digest),
    constraint price_has_currency check (price is null or currency is not null)
);
comment on table fact.transaction is 'Versions of transactions, one row per version that differs';
comment on column fact.transaction.digest is
'The first 16 bytes of the SHA-256 of the version''s canonical JSON: tells versions of one moment apart, and orders them';
comment on column fact.transaction.source_rank is 'How far the source is believed; the greater wins';
comment on column fact.transaction.stated is
'Which fields the version speaks for, a bit each: 0 type, 1 product_id, 2 group_id, 3 period, 4 purchased_at, '
'5 expires_at, 6 price and currency, 7 country, 8 reason, 9 ownership, 10 offer, 11 revoked_at, 12 revocation, '
'13 refund, 14 tax, 15 commission, 16 proceeds, 17 is_upgraded, 18 quantity';
comment on column fact.transaction.event_id is 'The event that said it; of several the least';
comment on column fact.transaction.price is 'What was charged for the whole quantity, in micros';

create table fact.renewal (
    subscription_key bigint not null,
    source text not null,
    signed_at timestamptz not null,
    digest uuid not null,
    source_rank smallint not null,
    stated bigint not null,
    event_id text not null,
    auto_renew boolean,
    auto_renew_product_id text,
    renews_at timestamptz,
    renewal_price bigint,
    currency text,
    expiration_reason text,
    in_billing_retry boolean,
    grace_expires_at timestamptz,
    paused_at timestamptz,
    resumes_at timestamptz,
    price_increase text,
    eligible_win_back_offers text[],
    primary key (subscription_key, signed_at, source, digest),
    constraint renewal_price_has_currency check (renewal_price is null or currency is not null)
);
comment on table fact.renewal is 'Versions of renewal statuses, one row per version that differs';
comment on column fact.renewal.stated is
'Which fields the version speaks for, a bit each: 0 auto_renew, 1 auto_renew_product_id, 2 renews_at, '
'3 renewal_price and currency, 4 expiration_reason, 5 in_billing_retry, 6 grace_expires_at, 7 paused_at, '
'8 resumes_at, 9 price_increase, 10 eligible_win_back_offers';

create table fact.subscriber (
    subscription_key bigint not null,
    subscriber_id text not null,
    occurred_at timestamptz not null,
    source text not null,
    event_id text not null,
    primary key (subscription_key, subscriber_id, occurred_at, source, event_id)
);
comment on table fact.subscriber is 'Whose chain it is, by the events that name a customer';

create table fact.link (
    subscription_key bigint not null,
    previous_subscription_key bigint not null,
    event_id text not null,
    primary key (subscription_key, previous_subscription_key)
);
comment on table fact.link is 'Chains that continue another one';
