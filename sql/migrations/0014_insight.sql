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
alter column app_id drop not null;
comment on column forward.delivery.app_id is 'The event''s app; null of a digest';
comment on column forward.delivery.subscription_key is 'The event''s chain; 0 of a digest';

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

-- Rules that runs apply and explanations repeat, each in one place. They are plain expressions, which cost no more than if they
-- stood where they are used.
create function measure.monthly_price(
    price bigint, period text, listed_period text, days numeric, factors text
) returns bigint
language sql immutable parallel safe
return ledger.monthly_price(price, coalesce(period, listed_period, ledger.usual_length(days)), factors);
comment on function measure.monthly_price(bigint, text, text, numeric, text) is
'The MRR of a period: of the transaction''s length, else the catalogue''s, else the usual one nearest to its duration';

create function measure.direction(
    level integer, from_level integer, mrr bigint, from_mrr bigint, currency text, from_currency text
) returns text
language sql immutable parallel safe
return case
    when level is not null and from_level is not null
        then
            case
                when level < from_level then 'upgrade'
                when level > from_level then 'downgrade'
                else 'crossgrade'
            end
    when currency is distinct from from_currency then 'crossgrade'
    when mrr > from_mrr then 'upgrade'
    when mrr < from_mrr then 'downgrade'
    else 'crossgrade'
end;
comment on function measure.direction(integer, integer, bigint, bigint, text, text) is
'Which way a change of product went: by level, 1 being the highest; where the catalogue does not rank both, by MRR';

create function measure.mrr_movement(kind text) returns text
language sql immutable parallel safe
return case
    when kind in ('renewed', 'product_changed') then 'changed'
    when kind in ('new', 'trial_converted') then 'new'
    when kind in ('reactivated', 'won_back', 'refund_reversed') then 'reactivation'
    when kind in ('recovered', 'resumed') then 'recovery'
    when kind in ('suspended', 'paused') then 'suspension'
    else 'churn'
end;
comment on function measure.mrr_movement(text) is
'What an entry of a kind does to MRR, those left out that moved_out and handed_over tell: what enters elsewhere tells of them';

create function measure.mrr_currency(mrr bigint, currency text, movement text, other_currency text) returns text
language sql immutable parallel safe
return case
    when mrr is not null then coalesce(currency, case when movement = 'changed' then other_currency end, '') else ''
end;
comment on function measure.mrr_currency(bigint, text, text, text) is
'The currency in whose row MRR stands. What is free may name none: it is in that of what it comes from or goes to. What has no '
'known price is in none, an empty text';

create function measure.commission_rate(
    store text, programme text, share numeric, is_past_first_year boolean
) returns numeric
language sql immutable parallel safe
return coalesce(
    share,
    case
        when store not in ('app_store', 'mac_app_store') then null
        when programme = 'small_business' then 0.15
        when is_past_first_year then 0.15
        else 0.3
    end
);
comment on function measure.commission_rate(text, text, numeric, boolean) is
'A store''s share of what is left after tax: the one that the app names, else Apple''s, less after a year of paid service and for '
'small businesses; null where it is unknown';

create function measure.left_over(
    amount bigint,
    told_tax bigint,
    told_commission bigint,
    told_proceeds bigint,
    tax_rate numeric,
    commission_rate numeric
) returns table (tax bigint, commission bigint, proceeds bigint, is_estimated boolean)
language sql immutable parallel safe
begin atomic
    select
        earned.tax,
        earned.commission,
        case when earned.is_derived then amount - earned.tax - earned.commission else told_proceeds end,
        earned.is_derived and (told_tax is null or told_commission is null)
    from (
        select
            taxed.is_derived,
            taxed.tax,
            case
                when taxed.is_derived
                    then
                        coalesce(
                            told_commission, ledger.half_even((amount - taxed.tax) * commission_rate)::bigint
                        )
                else told_commission
            end as commission
        from (
            select
                known.is_derived,
                case
                    when known.is_derived then coalesce(told_tax, ledger.half_even(amount * tax_rate)::bigint)
                    else told_tax
                end as tax
            from (
                select
                    amount is not null and told_proceeds is null
                    and (told_tax is not null or tax_rate is not null)
                    and (told_commission is not null or commission_rate is not null) as is_derived
            ) as known
        ) as taxed
    ) as earned;
end;
comment on function measure.left_over(bigint, bigint, bigint, bigint, numeric, numeric) is
'Tax, commission and proceeds of a charge or a refund: as they were told, else, where tax and commission are known or can be '
'estimated, tax first and commission of what is left';

create view ledger.entry_line as
select
    subscription_key,
    purchased_at,
    transaction_id,
    part,
    at,
    kind,
    product_id,
    country,
    offer,
    active,
    trial,
    grace,
    retry,
    set_to_cancel,
    paused,
    family,
    charge,
    amount,
    currency,
    tax,
    commission,
    proceeds,
    price,
    price_currency,
    period,
    days,
    from_product_id,
    from_country,
    from_offer,
    from_price,
    from_currency,
    from_period,
    from_days,
    from_purchased_at,
    is_past_first_year,
    sign
from ledger.entry;
comment on view ledger.entry_line is
'Entries by what they say, whichever run posted them: what is compared when a chain is settled, and summed into totals';

grant select on ledger.entry_line to tenure_writer;

-- What the last run converted with, one charge at a time: rates that have changed since are as they were in it.
create function reference.known_rate(currency text, day date) returns numeric
language sql stable parallel safe
begin atomic
    select known.per_euro
    from (
        (
            select
                rate.day,
                rate.per_euro
            from reference.rate as rate
            where
                rate.currency = known_rate.currency
                and rate.day <= known_rate.day
                and not exists (
                    select
                    from reference.rate_change as changed
                    where changed.currency = rate.currency and changed.day = rate.day
                )
            order by rate.day desc
            limit 1
        )
        union all
        (
            select
                changed.day,
                changed.per_euro
            from reference.rate_change as changed
            where
                changed.currency = known_rate.currency
                and changed.day <= known_rate.day
                and changed.had_rate
            order by changed.day desc
            limit 1
        )
    ) as known
    order by known.day desc
    limit 1;
end;
comment on function reference.known_rate(text, date) is
'How many units of a currency one euro was on a day, by the rates that the last run knew; null where there was no rate';

create function reference.known_conversion(currency text, wanted text, day date)
returns table (per_euro numeric, wanted_per_euro numeric)
language sql stable parallel safe
begin atomic
    select
        case when currency = 'EUR' or currency = wanted then 1 else reference.known_rate(currency, day) end,
        case when wanted = 'EUR' or currency = wanted then 1 else reference.known_rate(wanted, day) end;
end;
comment on function reference.known_conversion(text, text, date) is
'What an amount of a currency was converted with to another one: how many units of each one euro was';

create function reference.rate_of(per_euro numeric, wanted_per_euro numeric) returns numeric
language sql immutable parallel safe
return case when per_euro <> wanted_per_euro then trim_scale(round(wanted_per_euro / per_euro, 10)) end;
comment on function reference.rate_of(numeric, numeric) is
'How many units of the wanted currency one of the other was, to ten digits, to be shown; null where nothing was converted';
