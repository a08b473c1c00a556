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
    revoked_at timestamptz[],
    restored_at timestamptz[],
    refund bigint[],
    revocation text[],
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
    trial_started_at timestamptz,
    trial_state text,
    trial_product_id text,
    trial_country text,
    renewal_state text,
    failure_state text,
    stretch_started_at timestamptz,
    months_before integer not null,
    rest_before interval not null,
    primary key (subscription_key, purchased_at, transaction_id)
);
create index period_due on ledger.period (due_at) where due_at is not null;
create index period_running on ledger.period (subscription_key) where closing is null;
create index period_of_win_back on ledger.period (subscription_key, offer_id) where offer = 'win_back';
comment on table ledger.period is
'Periods, one row per transaction: access, kind of charge, how it began and ended. A cache: it can be derived again';
comment on column ledger.period.offer is 'none, or the offer''s type';
comment on column ledger.period.revoked_at is 'When access was withdrawn, in order; null when never';
comment on column ledger.period.restored_at is 'When each revocation was taken back; null while it holds';
comment on column ledger.period.revocation is 'The store''s word for each revocation; null where it has none: full';
comment on column ledger.period.refund is 'What each revocation returned, in micros; null when unknown, 0 when nothing';
comment on column ledger.period.class is 'own, family or one_time';
comment on column ledger.period.is_trial is 'Free, and after no paid period without a gap; also of Family Sharing';
comment on column ledger.period.charge is
'Kind of charge; product_change stands for upgrade, downgrade or crossgrade; null for free periods and family';
comment on column ledger.period.opening is 'How it began: a movement, or trial_started, trial_continued, family_granted';
comment on column ledger.period.closing is
'How it ended: continued, a movement, trial_lost or family_ended; null while it runs';
comment on column ledger.period.trial_state is
'Of the last period of a trial: converted, expired, cancelled, running or in_retry; null elsewhere';
comment on column ledger.period.trial_product_id is 'Of the last period of a trial: the product of its first';
comment on column ledger.period.renewal_state is
'Of paid time that reached its expiry, neither replaced nor refunded nor paused: renewed, recovered_in_grace, '
'recovered_in_retry, changed_product, lost or open; null elsewhere';
comment on column ledger.period.failure_state is
'Of a period whose next charge failed: recovered_in_grace, recovered_in_retry, lost or open; null elsewhere';
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
    from_country text,
    from_offer text,
    from_price bigint,
    from_currency text,
    from_period text,
    from_days numeric,
    primary key (subscription_key, purchased_at, transaction_id, run_id, line),
    constraint sign_is_one check (sign in (1, -1))
);
create index entry_happened on ledger.entry using brin (at) with (pages_per_range = 32);
create index entry_moves on ledger.entry (subscription_key, at) where active <> 0;
comment on table ledger.entry is
'Entries: what changed at one moment of a chain. Never edited or deleted; what is no longer true is reversed by the same '
'line with the other sign. Sums are of sign times the change';
comment on column ledger.entry.part is '0: how the period began, 1: what came later';
comment on column ledger.entry.charge is 'Kind of the charge that was made or returned; null when no money is concerned';
comment on column ledger.entry.amount is 'Money charged, negative when returned, in micros; null when unknown';
comment on column ledger.entry.price is 'Price of the running period that is gained, in micros, for its MRR';
comment on column ledger.entry.from_product_id is
'The product before, of a change; likewise country, offer, price, currency and length';
comment on column ledger.entry.from_price is 'Price of the running period that is left, in micros, for its MRR';

create table ledger.chain (
    subscription_key bigint primary key,
    line_key bigint not null,
    class text,
    purchased_at timestamptz,
    transaction_id text,
    auto_renew boolean,
    win_back_offers text[]
);
create index chain_of_line on ledger.chain (line_key);
comment on table ledger.chain is 'Chains as the last run that settled them left them: the last period and the newest word';
comment on column ledger.chain.line_key is
'The least key of the chains that continue one another and are read as one line; of a chain alone its own';
comment on column ledger.chain.class is 'The class of its transactions, or mixed';
comment on column ledger.chain.purchased_at is 'When its last subscription transaction was bought; null when it has none';
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
    environment text not null,
    store text not null,
    product_id text not null,
    group_id text,
    period text,
    is_at_usual_price boolean not null,
    seen_at timestamptz not null,
    transaction_id text not null,
    primary key (app_id, environment, store, product_id)
);
comment on table ledger.product is
'Products as their newest transaction shows them, one without an offer where there is any';

create function ledger.whole_months(starts_at timestamptz, ends_at timestamptz) returns integer
language sql immutable parallel safe
return (
    with elapsed as (
        select
            (extract(year from ends_at at time zone 'UTC') - extract(year from starts_at at time zone 'UTC')) * 12
            + extract(month from ends_at at time zone 'UTC')
            - extract(month from starts_at at time zone 'UTC') as months
    )
    select
        case
            when (starts_at at time zone 'UTC') + make_interval(months => months::integer) <= ends_at at time zone 'UTC'
                then months
            else months - 1
        end::integer
    from elapsed
);
comment on function ledger.whole_months(timestamptz, timestamptz) is
'Whole calendar months from one moment to another, in UTC: 31 January to 28 February is one, as months end early';

create function ledger.rest_of_months(starts_at timestamptz, ends_at timestamptz) returns interval
language sql immutable parallel safe
return (ends_at at time zone 'UTC')
- ((starts_at at time zone 'UTC') + make_interval(months => ledger.whole_months(starts_at, ends_at)));
comment on function ledger.rest_of_months(timestamptz, timestamptz) is
'What is left between two moments after their whole months';

create function ledger.half_even(amount numeric) returns numeric
language sql immutable parallel safe
return case
    when amount - trunc(amount) in (0.5, -0.5) and mod(trunc(amount), 2) = 0 then trunc(amount)
    else round(amount)
end;
comment on function ledger.half_even(numeric) is 'A number rounded to a whole one, halves to the even neighbour';

create function ledger.share(whole bigint, part bigint, of_total bigint) returns bigint
language sql immutable parallel safe
return case when of_total <> 0 then ledger.half_even(whole::numeric * part / of_total)::bigint end;
comment on function ledger.share(bigint, bigint, bigint) is
'The share part / of_total of an amount in micros, rounded half to even; null where the total is 0 or unknown';

create function ledger.usual_length(days numeric) returns text
language sql immutable parallel safe
return (
    select usual.period
    from (
        values
        ('P1D', 1::numeric), ('P3D', 3),
        ('P1W', 7),
        ('P2W', 14),
        ('P1M', 30.4375),
        ('P2M', 60.875),
        ('P3M', 91.3125),
        ('P6M', 182.625),
        ('P1Y', 365.25)
    ) as usual (period, days)
    order by abs(usual.days - usual_length.days)
    limit 1
);
comment on function ledger.usual_length(numeric) is
'The length that stores sell which is nearest to so many days: 28 to 31 are a month';

create function ledger.monthly_price(price bigint, period text, factors text) returns bigint
language sql immutable parallel safe
return (
    with length as (
        select
            substring(period from '^P([0-9]+)')::numeric as n,
            right(period, 1) as unit
    ),

    in_weeks as (
        select
            case when unit = 'D' and mod(n, 7) = 0 then n / 7 else n end as n,
            case when unit = 'D' and mod(n, 7) = 0 then 'W' else unit end as unit
        from length
    )

    select
        ledger.half_even(
            case
                when unit = 'D' and factors = 'revenuecat' then price * 30 / n
                when unit = 'W' and factors = 'revenuecat' then price * 4 / n
                when unit = 'D' then price * 365 / (12 * n)
                when unit = 'W' then price * 52 / (12 * n)
                when unit = 'M' then price / n
                when unit = 'Y' then price / (12 * n)
            end
        )::bigint
    from in_weeks
);
comment on function ledger.monthly_price(bigint, text, text) is
'A price brought to a month, in micros, rounded once, half to even: day x 365/12, week x 52/12, month x 1, year / 12; '
'days that are a multiple of 7 are weeks. With the factors of RevenueCat day x 30 and week x 4';

create function ledger.paid_months(
    months_before integer, rest_before interval, stretch_started_at timestamptz, stretch_ends_at timestamptz
) returns integer
language sql immutable parallel safe
return coalesce(months_before, 0)
+ case
    when stretch_started_at < stretch_ends_at then ledger.whole_months(stretch_started_at, stretch_ends_at) else 0
end
+ floor(
    extract(
        epoch from coalesce(rest_before, '0')
        + case
            when stretch_started_at < stretch_ends_at then ledger.rest_of_months(stretch_started_at, stretch_ends_at)
            else '0'
        end
    ) / (30 * 86400)
)::integer;
comment on function ledger.paid_months(integer, interval, timestamptz, timestamptz) is
'Months of paid access: whole calendar months of each unbroken stretch, and the rests added at 30 days a month';
