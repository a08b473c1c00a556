-- Deliveries of events to targets. All of it is local to one node.
create schema forward;
comment on schema forward is 'Targets and deliveries';

create table forward.target (
    name text primary key,
    type text not null,
    state text not null default 'active',
    is_configured boolean not null default true,
    added_at timestamptz not null,
    starts_at timestamptz not null,
    max_age interval not null,
    events text[],
    apps text[],
    environments text[] not null,
    countries text[],
    minimum_amount bigint,
    held_until timestamptz,
    last_success_at timestamptz,
    last_error text,
    last_error_at timestamptz,
    constraint state_is_known check (state in ('active', 'paused'))
);
comment on table forward.target is
'Targets, from the first command that read them in the configuration, and which events they want';
comment on column forward.target.is_configured is 'Whether the configuration that was read last still has it';
comment on column forward.target.starts_at is 'Events that happened before are not sent: when it was added, or its setting';
comment on column forward.target.max_age is 'How long before its receipt an event may have happened';
comment on column forward.target.events is 'Kinds it wants; null for all that forward.accepts names';
comment on column forward.target.apps is 'Keys of the apps it wants; null for all';
comment on column forward.target.countries is 'Storefronts it wants; null for all, also for events without one';
comment on column forward.target.minimum_amount is
'The least money an event must move either way, in micros of whatever currency; null when it need not move any';
comment on column forward.target.held_until is 'Nothing is sent before: it asked for a wait, or its pace does';

-- Numbers of the sessions that deliver. A session holds the advisory lock (1718579831, number) as long as it lives.
create sequence forward.claim_number as integer;
comment on sequence forward.claim_number is 'Numbers of sessions that deliver, none given twice';

create table forward.delivery (
    delivery_id bigint generated always as identity primary key,
    target text not null,
    app_id bigint not null,
    source text not null,
    event_id text not null,
    subscription_key bigint not null,
    announces text not null,
    kind text,
    direction text,
    state text not null default 'waiting',
    attempts integer not null default 0,
    failures integer not null default 0,
    failing_since timestamptz,
    due_at timestamptz not null,
    created_at timestamptz not null,
    last_status integer,
    last_error text,
    delivered_at timestamptz,
    claim integer,
    body text,
    constraint announced_once unique (target, announces),
    constraint state_is_known check (state in ('waiting', 'delivered', 'refused'))
);
create index delivery_due on forward.delivery (target, due_at, delivery_id) where state = 'waiting';
create index delivery_claimed on forward.delivery (claim) where claim is not null;
create index delivery_of_event on forward.delivery (event_id);
comment on table forward.delivery is 'Deliveries, one row per event and target, made in the event''s transaction';
comment on column forward.delivery.target is
'The target''s name. No foreign key: it would lock the target''s row in every event''s transaction';
comment on column forward.delivery.event_id is
'The event it was made from. Until the first attempt another that announces the same from a better source may take over';
comment on column forward.delivery.announces is
'What the delivery announces: a charge of a transaction, or a kind and its transaction or moment. Once per target';
comment on column forward.delivery.kind is 'The kind as settled from the facts before the first attempt; never changed then';
comment on column forward.delivery.direction is
'Of an immediate change of product, settled with its kind: upgrade, downgrade or crossgrade';
comment on column forward.delivery.attempts is 'Requests made';
comment on column forward.delivery.failures is 'Requests that failed since it last began anew; its place in the schedule';
comment on column forward.delivery.failing_since is 'The first of those failures; three days later it is given up';
comment on column forward.delivery.claim is
'The session that has it in hand. Without that session''s lock the claim has ended with it';
comment on column forward.delivery.body is 'What is sent, once it was made, until delivered: the same bytes on every attempt';

-- What an event announces. Kinds that differ only by what the facts say of the period before share one word.
create function forward.announces(
    subscription_key bigint, kind text, also text[], effective text, transaction_id text, occurred_at timestamptz
) returns text
language sql stable parallel safe
return subscription_key || ':'
|| case
    when
        (kind || also) && array[
            'subscription_started', 'trial_converted', 'subscription_renewed', 'billing_recovered', 'win_back',
            'subscription_reactivated', 'offer_converted', 'non_renewing_purchase', 'consumable_purchase'
        ]
        or (effective = 'immediate' and 'product_changed' = any(kind || also)) then 'charge'
    when kind = 'trial_cancelled' then 'auto_renew_disabled'
    when kind = 'trial_expired' then 'subscription_expired'
    else kind
end
|| ':' || coalesce(transaction_id, extract(epoch from occurred_at)::text);
comment on function forward.announces(bigint, text, text[], text, text, timestamptz) is
'What an event announces: of several that announce the same, one is delivered';

create function forward.accepts(events text[], kinds text[]) returns boolean
language sql immutable parallel safe
return case
    when events is null then
        not kinds <@ array['ignored', 'unrecognised', 'invoice_issued', 'entitlement_changed']
    else events && kinds
end;
comment on function forward.accepts(text[], text[]) is
'Whether a target that wants these events, or names none, wants an event of one of these kinds';

-- The decoder's word may be settled into another one when the delivery is made; a target may want any of them.
create function forward.possible_kinds(kind text, also text[]) returns text[]
language sql immutable parallel safe
return kind || also || case
    when kind = 'subscription_expired' then array['trial_expired']
    when kind = 'trial_expired' then array['subscription_expired']
    when kind = 'auto_renew_disabled' then array['trial_cancelled']
    when kind = 'trial_cancelled' then array['auto_renew_disabled']
    when
        kind in (
            'subscription_started', 'trial_converted', 'subscription_renewed', 'billing_recovered', 'win_back',
            'subscription_reactivated', 'product_changed', 'offer_converted'
        )
        then
            array[
                'subscription_started', 'trial_converted', 'subscription_renewed', 'billing_recovered', 'win_back',
                'subscription_reactivated', 'product_changed'
            ]
    else array[]::text[]
end;
comment on function forward.possible_kinds(text, text[]) is 'The kinds an event has or may turn out to have';

create function forward.wants(
    target forward.target, kind text, also text[], app_key text, environment text, country text, amount bigint
) returns boolean
language sql immutable parallel safe
return forward.accepts(target.events, forward.possible_kinds(kind, also))
and environment = any(target.environments)
and (target.apps is null or coalesce(app_key = any(target.apps), false))
and (target.countries is null or coalesce(country = any(target.countries), false))
and (target.minimum_amount is null or coalesce(abs(amount) >= target.minimum_amount, false));
comment on function forward.wants(forward.target, text, text[], text, text, text, bigint) is
'Whether an event is one that a target wants, whatever its age';
