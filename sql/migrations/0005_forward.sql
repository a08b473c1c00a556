-- Deliveries of events to targets. All of it is local to one node.
create schema forward;
comment on schema forward is 'Targets and deliveries';

create table forward.target (
    name text primary key,
    type text not null,
    state text not null default 'active',
    added_at timestamptz not null,
    last_success_at timestamptz,
    last_error text,
    last_error_at timestamptz,
    constraint state_is_known check (state in ('active', 'paused'))
);
comment on table forward.target is 'Targets, from the first command that read them in the configuration';

create table forward.delivery (
    delivery_id bigint generated always as identity primary key,
    target text not null references forward.target,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    subscription_key bigint not null,
    announces text not null,
    state text not null default 'waiting',
    attempts integer not null default 0,
    due_at timestamptz not null,
    created_at timestamptz not null,
    last_status integer,
    last_error text,
    delivered_at timestamptz,
    body text,
    unique (target, announces),
    constraint state_is_known check (state in ('waiting', 'delivered', 'refused'))
);
create index delivery_due on forward.delivery (target, due_at) where state = 'waiting';
comment on table forward.delivery is 'Deliveries, one row per event and target, made in the event''s transaction';
comment on column forward.delivery.announces is
'What the delivery announces: a charge of a transaction, or a kind and its moment. Announced once per target';
comment on column forward.delivery.body is 'The request''s body once it was made: the same bytes on every attempt';
