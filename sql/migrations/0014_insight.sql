-- Win-back: when each line became eligible for each offer, and whether it came back.
create table ledger.winback (
    subscription_key bigint not null,
    offer_id text not null,
    eligible_at timestamptz not null,
    due_at timestamptz not null,
    product_id text,
    country text,
    back_at timestamptz,
    is_back_with_offer boolean not null,
    is_told boolean not null default false,
    primary key (subscription_key, offer_id, eligible_at)
);
create index winback_untold on ledger.winback (due_at) where not is_told;
comment on table ledger.winback is
'Each time a chain without access became eligible for a win-back offer, as far as is known now, also those to come. A cache: it '
'can be derived again';
comment on column ledger.winback.subscription_key is 'The chain that was lost; of chains that continue one another the last';
comment on column ledger.winback.eligible_at is 'When it met the last condition';
comment on column ledger.winback.due_at is 'It counts for runs whose as-of lies after this moment';
comment on column ledger.winback.product_id is 'The product that was lost; likewise the country';
comment on column ledger.winback.back_at is 'When the line had access again; null when it has not';
comment on column ledger.winback.is_back_with_offer is 'Whether it came back with this offer';
comment on column ledger.winback.is_told is 'Whether its event was made';

create table ledger.winback_offer (like reference.winback_offer including all);
comment on table ledger.winback_offer is 'The win-back offers as the last run read them: where they differ all is derived anew';

grant select, insert, update, delete on ledger.winback, ledger.winback_offer to tenure_writer;

-- Digests: what a target is told of a day.
alter table forward.target
add column digest_at time,
add column digest_zone text,
add constraint digest_has_a_zone check ((digest_at is null) = (digest_zone is null));
comment on column forward.target.digest_at is 'When each day''s digest is due, by the clock of digest_zone; null when none is wanted';
comment on column forward.target.digest_zone is 'An IANA name of a time zone';

create table forward.digest (
    target text not null,
    day date not null,
    event_id text not null unique,
    occurred_at timestamptz not null,
    made_at timestamptz not null,
    body json not null,
    primary key (target, day)
);
comment on table forward.digest is 'The digests that were made, one row per target and reporting day, never changed';
comment on column forward.digest.occurred_at is 'The moment that the target''s setting names, the first after the day''s end';
comment on column forward.digest.body is 'The event, its text';

grant select, insert, update, delete on forward.digest to tenure_writer;

-- A digest is of no app and no chain.
alter table forward.delivery
alter column app_id drop not null,
alter column subscription_key drop not null;
comment on column forward.delivery.app_id is 'The event''s app; null of a digest, likewise the subscription';

-- Of one moment a chain may become eligible for several offers: each is announced.
drop function forward.announces(bigint, text, text[], text, text, timestamptz);
create function forward.announces(
    subscription_key bigint, kind text, also text[], effective text, transaction_id text, event_id text,
    occurred_at timestamptz
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
|| ':' || coalesce(
    transaction_id, case when kind = 'winback_eligible' then event_id end, extract(epoch from occurred_at)::text
);
comment on function forward.announces(bigint, text, text[], text, text, text, timestamptz) is
'What an event announces: of several that announce the same, one is delivered';
