-- The books: what each chain did, as entries that are never edited, and the cache they are derived through.
create schema ledger;
comment on schema ledger is 'The books: periods and entries of every chain';

create table ledger.unsettled (
    subscription_key bigint not null,
    transaction_id text,
    at timestamptz not null,
    due_at timestamptz not null
);
comment on table ledger.unsettled is
'Chains with facts that no run has read. Written in the fact''s transaction, without a key: nothing to wait for';
comment on column ledger.unsettled.transaction_id is 'The transaction a fact is about; null for a status or a customer';
comment on column ledger.unsettled.at is 'The moment in the chain from which the fact may show';
comment on column ledger.unsettled.due_at is 'The fact counts for runs whose as-of lies after this moment';

create table ledger.period (
    subscription_key bigint not null,
    purchased_at timestamptz not null,
    transaction_id text not null,
    -- the effective transaction
    type text,
    product_id text,
    group_id text,
    period text,
    expires_at timestamptz,
    price bigint,
    currency text,
    country text,
    reason text,
    offer text not null,
    offer_id text,
    offer_discount text,
    offer_period text,
    tax bigint,
    commission bigint,
    proceeds bigint,
    revoked_at timestamptz [],
    restored_at timestamptz [],
    refund bigint [],
    is_fully_refunded boolean not null,
    -- what it is
    class text not null,
    is_free boolean not null,
    is_trial boolean not null,
    is_empty boolean not null,
    charge text,
    -- the store's word about its end
    auto_renew boolean,
    expiration_reason text,
    is_failed boolean not null,
    grace_expires_at timestamptz,
    expired_said_at timestamptz,
    paused_at timestamptz,
    resumes_at timestamptz,
    -- its course as of the last run that settled it
    opening text,
    closing text,
    closed_at timestamptz,
    retry_ends_at timestamptz,
    due_at timestamptz,
    -- carried from period to period
    paid_number integer not null,
    first_paid_at timestamptz,
    spell_started_at timestamptz,
    trial_started_at timestamptz,
    stretch_started_at timestamptz,
    months_before integer not null,
    rest_before interval not null,
    primary key (subscription_key, purchased_at, transaction_id)
);
create index period_due on ledger.period (due_at) where due_at is not null;
create index period_of_win_back on ledger.period (subscription_key, offer_id) where offer = 'win_back';
comment on table ledger.period is
'Periods, one row per transaction: access, kind of charge, how it began and ended. A cache: it can be derived again';
comment on column ledger.period.offer is 'none, or the offer''s type';
comment on column ledger.period.revoked_at is 'When access was withdrawn, in order; null when never';
comment on column ledger.period.restored_at is 'When each revocation was taken back; null while it holds';
comment on column ledger.period.refund is 'What each revocation returned, in micros; null when unknown, 0 when nothing';
comment on column ledger.period.class is 'own, family or one_time';
comment on column ledger.period.charge is
'Kind of charge; product_change stands for upgrade, downgrade or crossgrade; null for free periods and family';
comment on column ledger.period.opening is 'How it began: a movement, or trial_started, trial_continued, family_granted';
comment on column ledger.period.closing is
'How it ended: continued, a movement, trial_lost or family_ended; null while it runs';
comment on column ledger.period.due_at is 'The next moment at which its course may change without a new fact';
comment on column ledger.period.months_before is
'Whole months of paid access in the unbroken stretches that ended before the running one';
comment on column ledger.period.rest_before is 'What those stretches had beyond whole months';

create table ledger.entry (
    subscription_key bigint not null,
    purchased_at timestamptz not null,
    transaction_id text not null,
    run_id bigint not null,
    line smallint not null,
    sign smallint not null,
    part smallint not null,
    at timestamptz not null,
    kind text not null,
    product_id text,
    country text,
    offer text not null,
    active smallint not null,
    trial smallint not null,
    grace smallint not null,
    retry smallint not null,
    set_to_cancel smallint not null,
    paused smallint not null,
    family smallint not null,
    charge text,
    amount bigint,
    currency text,
    tax bigint,
    commission bigint,
    proceeds bigint,
    price bigint,
    price_currency text,
    period text,
    days numeric,
    from_product_id text,
    from_price bigint,
    from_currency text,
    from_period text,
    from_days numeric,
    primary key (subscription_key, purchased_at, transaction_id, run_id, line),
    constraint sign_is_one check (sign in (1, -1))
);
create index entry_moves on ledger.entry (subscription_key, at) where active <> 0;
comment on table ledger.entry is
'Entries: what changed at one moment of a chain. Never edited or deleted; what is no longer true is reversed by the same '
'line with the other sign. Sums are of sign times the change';
comment on column ledger.entry.part is '0: how the period began, 1: what came later';
comment on column ledger.entry.charge is 'Kind of the charge that was made or returned; null when no money is concerned';
comment on column ledger.entry.amount is 'Money charged, negative when returned, in micros; null when unknown';
comment on column ledger.entry.price is 'Price of the running period that is gained, in micros, for its MRR';
comment on column ledger.entry.from_price is 'Price of the running period that is left, in micros, for its MRR';

create table ledger.chain (
    subscription_key bigint primary key,
    as_of timestamptz not null,
    transaction_id text,
    purchased_at timestamptz,
    auto_renew boolean,
    win_back_offers text [],
    settled_runs integer not null
);
comment on table ledger.chain is 'Chains as the last run that settled them left them: the last period and the newest word';
comment on column ledger.chain.win_back_offers is
'The store''s list of win-back offers, best first, when the newest status carries one';

create table ledger.identity (
    subscription_key bigint not null,
    starts_at timestamptz not null,
    subscriber_key bigint not null,
    subscriber_id text,
    primary key (subscription_key, starts_at)
);
create index identity_of_subscriber on ledger.identity (subscriber_key);
comment on table ledger.identity is 'Whose a chain is, from a moment on';
comment on column ledger.identity.subscriber_key is
'The subscriber within app and environment: a hash of the customer''s id, else the app transaction id, else the chain';
comment on column ledger.identity.subscriber_id is 'The customer''s id, else the app transaction id; null for a chain alone';

create table ledger.subscriber_entry (
    subscriber_key bigint not null,
    at timestamptz not null,
    run_id bigint not null,
    active smallint not null,
    sign smallint not null,
    app_id bigint not null,
    environment text not null,
    primary key (subscriber_key, at, run_id, active, sign)
);
comment on table ledger.subscriber_entry is
'When subscribers became active and ceased to be, over all their chains: distinct subscribers are no sum over chains';

create table ledger.product (
    app_id bigint not null,
    product_id text not null,
    group_id text,
    period text,
    seen_at timestamptz not null,
    transaction_id text not null,
    primary key (app_id, product_id)
);
comment on table ledger.product is 'Products as their newest transaction shows them, for those that no catalogue describes';
