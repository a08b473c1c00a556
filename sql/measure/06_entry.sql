-- Writes down the entries that the settled periods should have, compares them with those they have, and posts the
-- difference: reversals of what is no longer true, and what is new.
create temp table refund_episode on commit drop as
with episode as (
    select
        period.subscription_key,
        period.transaction_id,
        period.class,
        period.is_paid_time,
        period.is_trial,
        -- What the end of Family Sharing, and words that nobody knows, return is no refund of the charge.
        case when coalesce(taken.revocation, 'full') in ('full', 'prorated') then period.charge end as charge,
        period.switched_at,
        period.fate = 'withdrawn' and taken.revoked_at = period.lost_at as is_at_end,
        taken.nth,
        taken.revoked_at,
        taken.refund,
        case when taken.restored_at < period.as_of then taken.restored_at end as restored_at,
        -- Access goes once, however many of them withdraw it, and comes back when the last of those is taken back.
        coalesce(interruption.starts_at = taken.revoked_at, false)
        and min(taken.nth) filter (where interruption.starts_at is not null) over (
            partition by period.subscription_key, period.transaction_id, taken.revoked_at
        ) = taken.nth as takes_access,
        coalesce(interruption.ends_at = taken.restored_at, false) as gives_access
    from period
    inner join line using (subscription_key, transaction_id)
    cross join lateral unnest(line.revoked_at, line.restored_at, line.refund, line.revocation)
    with ordinality as taken (revoked_at, restored_at, refund, revocation, nth)
    left join lateral (
        select
            lower(span) as starts_at,
            upper(span) as ends_at
        from unnest(period.withdrawals) as span
        where
            span @> taken.revoked_at and coalesce(taken.restored_at > taken.revoked_at, true)
            and upper(span) < least(period.as_of, period.runs_until)
    ) as interruption on true
    where period.revoked_at is not null and taken.revoked_at < period.as_of
)

select
    *,
    is_paid_time
    and (select mod(count(*), 2) = 1 from unnest(switched_at) as switched (at) where switched.at < revoked_at)
    as was_off_when_revoked,
    is_paid_time
    and (select mod(count(*), 2) = 1 from unnest(switched_at) as switched (at) where switched.at < restored_at)
    as was_off_when_restored,
    -- The one that ended the period is told with the end.
    is_at_end and min(nth) filter (where is_at_end) over (
        partition by subscription_key, transaction_id
    ) = nth as is_end
from episode;

create index on refund_episode (subscription_key, transaction_id);
analyze refund_episode;

-- What the entries change. What they concern is their period's.
create temp table change on commit drop as
select
    subscription_key,
    transaction_id,
    1::smallint as part,
    closed_at as at,
    closing as kind,
    (-1)::smallint as active,
    0::smallint as trial,
    (-ends_in_grace::integer)::smallint as grace,
    (retry_ends_at is not null)::integer::smallint as retry,
    (-ends_off::integer)::smallint as set_to_cancel,
    (closing = 'paused')::integer::smallint as paused,
    0::smallint as family,
    case
        when fate = 'withdrawn' and charge is not null
            then
                (
                    select 'refund'
                    from refund_episode
                    where
                        refund_episode.subscription_key = period.subscription_key
                        and refund_episode.transaction_id = period.transaction_id
                        and refund_episode.is_end
                        and refund_episode.charge is not null
                )
    end as money,
    case
        when fate = 'withdrawn'
            then
                (
                    select refund_episode.refund
                    from refund_episode
                    where
                        refund_episode.subscription_key = period.subscription_key
                        and refund_episode.transaction_id = period.transaction_id
                        and refund_episode.is_end
                )
    end as refund
from period
where is_paid_time and closing is not null and closing <> 'continued'
union all
-- What goes on in another row or another chain leaves this one.
select
    subscription_key,
    transaction_id,
    1,
    next_at,
    case when is_left_for_other_row then 'moved_out' else 'handed_over' end,
    -1,
    0,
    -ends_in_grace::integer,
    0,
    -ends_off::integer,
    0,
    0,
    null,
    null
from period
where is_paid_time and is_left
union all
select
subscription_key,
transaction_id,
1,
expires_at,
'grace_entered',
0,
0,
1,
0,
0,
0,
0,
null,
null
from period
where is_paid_time and (ends_in_grace or fate = 'in_grace')
union all
select
subscription_key,
transaction_id,
1,
retry_ends_at,
'retry_ended',
0,
0,
0,
-1,
0,
0,
0,
null,
null
from period
where class = 'own' and retry_ends_at < as_of
union all
select
subscription_key,
transaction_id,
1,
least(resumes_at, next_at),
'pause_ended',
0,
0,
0,
0,
0,
-1,
0,
null,
null
from period
where class = 'own' and fate = 'paused' and least(resumes_at, next_at) < as_of
union all
select
    period.subscription_key,
    period.transaction_id,
    1,
    switched.at,
    case when mod(switched.nth, 2) = 1 then 'auto_renew_disabled' else 'auto_renew_enabled' end,
    0,
    0,
    0,
    0,
    case when mod(switched.nth, 2) = 1 then 1 else -1 end,
    0,
    0,
    null,
    null
from period
cross join lateral unnest(period.switched_at) with ordinality as switched (at, nth)
where period.is_paid_time and period.switched_at is not null and switched.at < coalesce(period.closed_at, 'infinity')
union all
select
subscription_key,
transaction_id,
0,
purchased_at,
opening,
0,
1,
0,
0,
0,
0,
0,
null,
null
from period
where is_trial and not is_base
union all
select
    subscription_key,
    transaction_id,
    1,
    closed_at,
    'trial_ended',
    0,
    -1,
    0,
    (retry_ends_at is not null)::integer,
    0,
    (fate = 'paused')::integer,
    0,
    null,
    null
from period
where is_trial and closing is not null
union all
select
subscription_key,
transaction_id,
0,
purchased_at,
'family_granted',
0,
0,
0,
0,
0,
0,
1,
null,
null
from period
where
    class = 'family' and not is_base and (not is_continuing or is_elsewhere)
union all
select
subscription_key,
transaction_id,
1,
closed_at,
'family_ended',
0,
0,
0,
0,
0,
0,
-1,
null,
null
from period
where class = 'family' and closing is not null and closing <> 'continued'
union all
select
subscription_key,
transaction_id,
1,
next_at,
'family_ended',
0,
0,
0,
0,
0,
0,
-1,
null,
null
from period
where class = 'family' and is_left
union all
-- Refunds that did not end the period: of a period that was over, or taken back before its end.
select
    refund_episode.subscription_key,
    refund_episode.transaction_id,
    1,
    refund_episode.revoked_at,
    case
        when not refund_episode.takes_access then 'refunded'
        when refund_episode.class = 'family' then 'family_ended'
        when refund_episode.is_trial then 'trial_ended'
        else 'churned_refunded'
    end,
    -(refund_episode.takes_access and refund_episode.is_paid_time)::integer,
    -(refund_episode.takes_access and refund_episode.is_trial)::integer,
    0,
    0,
    -(refund_episode.takes_access and refund_episode.was_off_when_revoked)::integer,
    0,
    -(refund_episode.takes_access and refund_episode.class = 'family')::integer,
    case when refund_episode.charge is not null then 'refund' end,
    refund_episode.refund
from refund_episode
where not refund_episode.is_end and (refund_episode.takes_access or refund_episode.charge is not null)
union all
select
    refund_episode.subscription_key,
    refund_episode.transaction_id,
    1,
    refund_episode.restored_at,
    'refund_reversed',
    (refund_episode.gives_access and refund_episode.is_paid_time)::integer,
    (refund_episode.gives_access and refund_episode.is_trial)::integer,
    0,
    0,
    (refund_episode.gives_access and refund_episode.was_off_when_restored)::integer,
    0,
    (refund_episode.gives_access and refund_episode.class = 'family')::integer,
    case when refund_episode.charge is not null then 'reversal' end,
    refund_episode.refund
from refund_episode
where
    refund_episode.restored_at is not null
    and (refund_episode.gives_access or refund_episode.charge is not null);

create temp table posting on commit drop as
-- How paid time begins, or goes on: a renewal is one entry.
select
    period.subscription_key,
    period.purchased_at,
    period.transaction_id,
    0::smallint as part,
    period.purchased_at as at,
    opening as kind,
    period.product_id,
    period.country,
    period.offer,
    (is_moved or not follows_paid_time)::integer::smallint as active,
    0::smallint as trial,
    (-(follows_paid_time and not is_moved and previous_ends_in_grace)::integer)::smallint as grace,
    0::smallint as retry,
    (-(follows_paid_time and not is_moved and previous_ends_off)::integer)::smallint as set_to_cancel,
    0::smallint as paused,
    0::smallint as family,
    period.charge,
    case when period.charge is not null then line.price end as amount,
    case when period.charge is not null then line.currency end as currency,
    case when period.charge is not null then line.tax end as tax,
    case when period.charge is not null then line.commission end as commission,
    case when period.charge is not null then line.proceeds end as proceeds,
    running_price as price,
    period.currency as price_currency,
    running_period as period,
    running_days as days,
    case when follows_paid_time or follows_pause then previous_product_id end as from_product_id,
    case when follows_paid_time then previous_country end as from_country,
    case when follows_paid_time then previous_offer end as from_offer,
    case when follows_paid_time or follows_pause then previous_price end as from_price,
    case when follows_paid_time or follows_pause then previous_currency end as from_currency,
    case when follows_paid_time or follows_pause then previous_period end as from_period,
    case when follows_paid_time or follows_pause then previous_days end as from_days,
    case when follows_paid_time or follows_pause then previous_purchased_at end as from_purchased_at,
    period.charge is not null and period.served >= interval '365 days' as is_past_first_year,
    1::smallint as sign
from period
inner join line using (subscription_key, transaction_id)
where period.is_paid_time and not period.is_base
union all
-- All else that happens to a period.
select
    period.subscription_key,
    period.purchased_at,
    period.transaction_id,
    change.part,
    change.at,
    change.kind,
    period.product_id,
    period.country,
    period.offer,
    change.active,
    change.trial,
    change.grace,
    change.retry,
    change.set_to_cancel,
    change.paused,
    change.family,
    case when change.money is not null then period.charge end,
    money.amount,
    case when change.money is not null then period.currency end,
    case when line.tax is not null then ledger.share(line.tax, money.amount, line.price) end,
    case when line.commission is not null then ledger.share(line.commission, money.amount, line.price) end,
    case when line.proceeds is not null then ledger.share(line.proceeds, money.amount, line.price) end,
    case when change.active > 0 then period.running_price end,
    case when change.active > 0 then period.currency end,
    case when change.active > 0 then period.running_period end,
    case when change.active > 0 then period.running_days end,
    case when change.active < 0 then period.product_id end,
    case when change.active < 0 then period.country end,
    case when change.active < 0 then period.offer end,
    case when change.active < 0 then period.running_price end,
    case when change.active < 0 then period.currency end,
    case when change.active < 0 then period.running_period end,
    case when change.active < 0 then period.running_days end,
    null,
    change.money is not null and period.served >= interval '365 days',
    1
from change
inner join period using (subscription_key, transaction_id)
inner join line using (subscription_key, transaction_id)
cross join lateral (
    select case change.money when 'refund' then -change.refund when 'reversal' then change.refund end as amount
) as money
union all
-- Charges that give no access, and their refunds.
select
    bare_charge.subscription_key,
    bare_charge.purchased_at,
    bare_charge.transaction_id,
    happened.part,
    happened.at,
    happened.kind,
    bare_charge.product_id,
    bare_charge.country,
    bare_charge.offer,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    bare_charge.charge,
    happened.amount,
    bare_charge.currency,
    case when happened.part = 0 then bare_charge.tax
        else ledger.share(bare_charge.tax, happened.amount, bare_charge.price)
    end,
    case when happened.part = 0 then bare_charge.commission
        else ledger.share(bare_charge.commission, happened.amount, bare_charge.price)
    end,
    case when happened.part = 0 then bare_charge.proceeds
        else ledger.share(bare_charge.proceeds, happened.amount, bare_charge.price)
    end,
    null,
    null,
    null,
    null,
    bare_charge.previous_product_id,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    bare_charge.served >= interval '365 days',
    1
from bare_charge
cross join lateral (
    select
0::smallint as part,
bare_charge.purchased_at as at,
'charged' as kind,
bare_charge.price as amount
    union all
    select
1,
taken.revoked_at,
'refunded',
-taken.refund
    from unnest(bare_charge.revoked_at, bare_charge.refund, bare_charge.revocation)
        as taken (revoked_at, refund, revocation)
    where coalesce(taken.revocation, 'full') in ('full', 'prorated')
    union all
    select
1,
given.restored_at,
'refund_reversed',
given.refund
    from unnest(bare_charge.revoked_at, bare_charge.restored_at, bare_charge.refund, bare_charge.revocation)
        as given (revoked_at, restored_at, refund, revocation)
    where
        given.revoked_at < (select as_of from this_run)
        and coalesce(given.revocation, 'full') in ('full', 'prorated')
) as happened
where bare_charge.charge is not null and happened.at < (select as_of from this_run);

-- Chains that were never settled have nothing to be compared with. Of the others what stands already is not posted.
create temp table difference on commit drop as
with compared as (
    select
        posting as line,
        1 as n
    from posting
    inner join settling using (subscription_key)
    where not settling.is_new
    union all
    select
        row(
            entry.subscription_key,
            entry.purchased_at,
            entry.transaction_id,
            entry.part,
            entry.at,
            entry.kind,
            entry.product_id,
            entry.country,
            entry.offer,
            entry.active,
            entry.trial,
            entry.grace,
            entry.retry,
            entry.set_to_cancel,
            entry.paused,
            entry.family,
            entry.charge,
            entry.amount,
            entry.currency,
            entry.tax,
            entry.commission,
            entry.proceeds,
            entry.price,
            entry.price_currency,
            entry.period,
            entry.days,
            entry.from_product_id,
            entry.from_country,
            entry.from_offer,
            entry.from_price,
            entry.from_currency,
            entry.from_period,
            entry.from_days,
            entry.from_purchased_at,
            entry.is_past_first_year,
            1
        )::posting,
        -entry.sign
    from settling
    inner join ledger.entry as entry
        on
            settling.subscription_key = entry.subscription_key
            and (
                settling.base_at is null
                or (entry.purchased_at, entry.transaction_id) > (settling.base_at, settling.base_transaction_id)
                or (
                    entry.purchased_at = settling.base_at and entry.transaction_id = settling.base_transaction_id
                    and entry.part = 1
                )
            )
            and (
                settling.stop_at is null
                or (entry.purchased_at, entry.transaction_id) <= (settling.stop_at, settling.stop_transaction_id)
            )
    where not settling.is_new
)

select
    line,
    sum(n) as n
from compared
group by line
having sum(n) <> 0;

delete from posting
using settling
where settling.subscription_key = posting.subscription_key and not settling.is_new;

insert into posting
select
    (difference.line).subscription_key,
    (difference.line).purchased_at,
    (difference.line).transaction_id,
    (difference.line).part,
    (difference.line).at,
    (difference.line).kind,
    (difference.line).product_id,
    (difference.line).country,
    (difference.line).offer,
    (difference.line).active,
    (difference.line).trial,
    (difference.line).grace,
    (difference.line).retry,
    (difference.line).set_to_cancel,
    (difference.line).paused,
    (difference.line).family,
    (difference.line).charge,
    (difference.line).amount,
    (difference.line).currency,
    (difference.line).tax,
    (difference.line).commission,
    (difference.line).proceeds,
    (difference.line).price,
    (difference.line).price_currency,
    (difference.line).period,
    (difference.line).days,
    (difference.line).from_product_id,
    (difference.line).from_country,
    (difference.line).from_offer,
    (difference.line).from_price,
    (difference.line).from_currency,
    (difference.line).from_period,
    (difference.line).from_days,
    (difference.line).from_purchased_at,
    (difference.line).is_past_first_year,
    sign(difference.n)
from difference
cross join generate_series(1, abs(difference.n)::integer);

analyze posting (subscription_key, active, part, charge);

-- What is refunded of a change of product is told by how the change began: where that is told otherwise now, it is counted again,
-- once, though its rate may have changed as well.
insert into recounted
with retold as (
    select distinct
        subscription_key,
        purchased_at,
        transaction_id
    from posting
    where part = 0
)

select entry_line.*
from retold
inner join ledger.entry_line using (subscription_key, purchased_at, transaction_id)
where entry_line.part = 1 and entry_line.charge = 'product_change' and not (select is_summed_anew from this_run)
except all
select recounted.*
from retold
inner join recounted using (subscription_key, purchased_at, transaction_id);

insert into ledger.entry (
    subscription_key,
    purchased_at,
    transaction_id,
    run_id,
    line,
    sign,
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
    is_past_first_year
)
select
    subscription_key,
    purchased_at,
    transaction_id,
    (select run_id from this_run),
    row_number() over (
        partition by subscription_key, purchased_at, transaction_id order by sign, at, part, kind
    ),
    sign,
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
    is_past_first_year
from posting
order by subscription_key, purchased_at, transaction_id;
