-- Brings the daily totals up to date by what was posted, or sums them anew under a new book, and keeps what this run
-- changed.
create temp view totalled as
select
    subscription_key,
    purchased_at,
    transaction_id,
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
    from_days
from posting
where not (select is_new_book from this_run)
union all
select
    subscription_key,
    purchased_at,
    transaction_id,
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
    from_days
from ledger.entry
where (select is_new_book from this_run);

create temp table counted on commit drop as
-- A change of product is told by its beginning; its refund asks there which way it went.
with changed_product as (
    select
        entries.subscription_key,
        entries.purchased_at,
        entries.transaction_id,
        entries.sign,
        entries.part,
        entries.at,
        entries.kind,
        entries.product_id,
        case when began.transaction_id is null then entries.from_product_id else began.from_product_id end
            as from_product_id,
        case when began.transaction_id is null then entries.price else began.price end as price,
        case when began.transaction_id is null then entries.price_currency else began.price_currency end
            as price_currency,
        case when began.transaction_id is null then entries.period else began.period end as period,
        case when began.transaction_id is null then entries.days else began.days end as days,
        case when began.transaction_id is null then entries.from_price else began.from_price end as from_price,
        case when began.transaction_id is null then entries.from_currency else began.from_currency end as from_currency,
        case when began.transaction_id is null then entries.from_period else began.from_period end as from_period,
        case when began.transaction_id is null then entries.from_days else began.from_days end as from_days
    from totalled as entries
    left join lateral (
        select entry.*
        from ledger.entry as entry
        where
            entry.subscription_key = entries.subscription_key
            and entry.purchased_at = entries.purchased_at
            and entry.transaction_id = entries.transaction_id
            and entry.part = 0
        order by entry.run_id desc, entry.sign desc
        limit 1
    ) as began on entries.part = 1
    where entries.kind = 'product_changed' or entries.charge = 'product_change'
),

monthly as (
    select
        changed_product.*,
        product.level,
        from_product.level as from_level,
        ledger.monthly_price(
            changed_product.price,
            coalesce(
                changed_product.period, product.period, ledger.usual_length(changed_product.days)
            ),
            this_run.mrr_factors
        ) as mrr,
        ledger.monthly_price(
            changed_product.from_price,
            coalesce(
                changed_product.from_period, from_product.period, ledger.usual_length(changed_product.from_days)
            ),
            this_run.mrr_factors
        ) as from_mrr
    from changed_product
    cross join this_run
    inner join fact.chain as chain using (subscription_key)
    left join reference.product as product
        on chain.app_id = product.app_id and changed_product.product_id = product.product_id
    left join reference.product as from_product
        on chain.app_id = from_product.app_id and changed_product.from_product_id = from_product.product_id
),

directed as (
    select distinct
        subscription_key,
        purchased_at,
        transaction_id,
        part,
        at,
        kind,
        sign,
        -- Level 1 is the highest. Where the catalogue does not rank both, the greater MRR is.
        case
            when level is not null and from_level is not null
                then
                    case
                        when level < from_level then 'upgrade'
                        when level > from_level then 'downgrade'
                        else 'crossgrade'
                    end
            when (price_currency is distinct from from_currency) then 'crossgrade'
            when mrr > from_mrr then 'upgrade'
            when mrr < from_mrr then 'downgrade'
            else 'crossgrade'
        end as direction
    from monthly
)

select
    chain.app_id,
    chain.environment,
    chain.store,
    entries.subscription_key,
    coalesce(entries.product_id, '') as product_id,
    coalesce(entries.country, '') as country,
    entries.offer,
    (entries.at at time zone this_run.zone)::date as day,
    (entries.purchased_at at time zone this_run.zone)::date as purchase_day,
    entries.sign,
    entries.part,
    entries.kind,
    entries.active = 1 and (
        entries.product_id is distinct from entries.from_product_id
        or entries.country is distinct from entries.from_country
        or entries.offer is distinct from entries.from_offer
    ) as is_from_other_row,
    entries.active,
    entries.trial,
    entries.grace,
    entries.retry,
    entries.set_to_cancel,
    entries.paused,
    entries.family,
    coalesce(entries.currency, '') as currency,
    entries.amount,
    entries.tax,
    entries.commission,
    entries.proceeds,
    directed.direction,
    case when entries.charge = 'product_change' then directed.direction else entries.charge end as charge
from totalled as entries
inner join fact.chain as chain using (subscription_key)
cross join this_run
left join directed using (subscription_key, purchased_at, transaction_id, part, at, kind, sign);

analyze counted (product_id, country, offer, day, purchase_day, currency, charge, part, kind);

create temp table daily_movement_difference on commit drop as
select
    app_id,
    environment,
    store,
    product_id,
    country,
    offer,
    day,
    sum(new) as new,
    sum(trial_converted) as trial_converted,
    sum(reactivated) as reactivated,
    sum(won_back) as won_back,
    sum(recovered) as recovered,
    sum(refund_reversed) as refund_reversed,
    sum(resumed) as resumed,
    sum(moved_in) as moved_in,
    sum(churned_voluntary) as churned_voluntary,
    sum(churned_billing) as churned_billing,
    sum(churned_price_increase) as churned_price_increase,
    sum(churned_product_unavailable) as churned_product_unavailable,
    sum(churned_refunded) as churned_refunded,
    sum(churned_other) as churned_other,
    sum(churned_unconfirmed) as churned_unconfirmed,
    sum(suspended) as suspended,
    sum(pauses) as pauses,
    sum(moved_out) as moved_out,
    sum(renewed) as renewed,
    sum(upgraded) as upgraded,
    sum(downgraded) as downgraded,
    sum(crossgraded) as crossgraded,
    sum(active) as active,
    sum(trial) as trial,
    sum(grace) as grace,
    sum(retry) as retry,
    sum(set_to_cancel) as set_to_cancel,
    sum(paused) as paused,
    sum(family) as family
from (
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        offer,
        day,
        coalesce(sum(sign) filter (where kind = 'new'), 0) as new,
        coalesce(sum(sign) filter (where kind = 'trial_converted'), 0) as trial_converted,
        coalesce(sum(sign) filter (where kind in ('reactivated', 'won_back')), 0) as reactivated,
        coalesce(sum(sign) filter (where kind = 'won_back'), 0) as won_back,
        coalesce(sum(sign) filter (where kind = 'recovered'), 0) as recovered,
        coalesce(sum(sign) filter (where kind = 'refund_reversed' and active = 1), 0) as refund_reversed,
        coalesce(sum(sign) filter (where kind = 'resumed'), 0) as resumed,
        coalesce(
            sum(sign) filter (where kind in ('renewed', 'product_changed') and is_from_other_row), 0
        ) as moved_in,
        coalesce(sum(sign) filter (where kind = 'churned_voluntary'), 0) as churned_voluntary,
        coalesce(sum(sign) filter (where kind = 'churned_billing'), 0) as churned_billing,
        coalesce(sum(sign) filter (where kind = 'churned_price_increase'), 0) as churned_price_increase,
        coalesce(sum(sign) filter (where kind = 'churned_product_unavailable'), 0) as churned_product_unavailable,
        coalesce(sum(sign) filter (where kind = 'churned_refunded'), 0) as churned_refunded,
        coalesce(sum(sign) filter (where kind = 'churned_other'), 0) as churned_other,
        coalesce(sum(sign) filter (where kind = 'churned_unconfirmed'), 0) as churned_unconfirmed,
        coalesce(sum(sign) filter (where kind = 'suspended'), 0) as suspended,
        coalesce(sum(sign) filter (where kind = 'paused'), 0) as pauses,
        coalesce(sum(sign) filter (where kind = 'moved_out'), 0) as moved_out,
        coalesce(sum(sign) filter (where kind = 'renewed'), 0) as renewed,
        coalesce(sum(sign) filter (where kind = 'product_changed' and direction = 'upgrade'), 0) as upgraded,
        coalesce(sum(sign) filter (where kind = 'product_changed' and direction = 'downgrade'), 0) as downgraded,
        coalesce(sum(sign) filter (where kind = 'product_changed' and direction = 'crossgrade'), 0) as crossgraded,
        sum(sign * active) as active,
        sum(sign * trial) as trial,
        sum(sign * grace) as grace,
        sum(sign * retry) as retry,
        sum(sign * set_to_cancel) as set_to_cancel,
        sum(sign * paused) as paused,
        sum(sign * family) as family
    from counted
    group by app_id, environment, store, product_id, country, offer, day
    union all
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        offer,
        day,
        -new,
        -trial_converted,
        -reactivated,
        -won_back,
        -recovered,
        -refund_reversed,
        -resumed,
        -moved_in,
        -churned_voluntary,
        -churned_billing,
        -churned_price_increase,
        -churned_product_unavailable,
        -churned_refunded,
        -churned_other,
        -churned_unconfirmed,
        -suspended,
        -pauses,
        -moved_out,
        -renewed,
        -upgraded,
        -downgraded,
        -crossgraded,
        -active,
        -trial,
        -grace,
        -retry,
        -set_to_cancel,
        -paused,
        -family
    from measure.daily_movement
    where (select is_new_book from this_run)
) as differences
group by app_id, environment, store, product_id, country, offer, day
having sum(new) <> 0
    or sum(trial_converted) <> 0
    or sum(reactivated) <> 0
    or sum(won_back) <> 0
    or sum(recovered) <> 0
    or sum(refund_reversed) <> 0
    or sum(resumed) <> 0
    or sum(moved_in) <> 0
    or sum(churned_voluntary) <> 0
    or sum(churned_billing) <> 0
    or sum(churned_price_increase) <> 0
    or sum(churned_product_unavailable) <> 0
    or sum(churned_refunded) <> 0
    or sum(churned_other) <> 0
    or sum(churned_unconfirmed) <> 0
    or sum(suspended) <> 0
    or sum(pauses) <> 0
    or sum(moved_out) <> 0
    or sum(renewed) <> 0
    or sum(upgraded) <> 0
    or sum(downgraded) <> 0
    or sum(crossgraded) <> 0
    or sum(active) <> 0
    or sum(trial) <> 0
    or sum(grace) <> 0
    or sum(retry) <> 0
    or sum(set_to_cancel) <> 0
    or sum(paused) <> 0
    or sum(family) <> 0;

insert into measure.daily_movement_change
select
    (select run_id from this_run),
    daily_movement_difference.*
from daily_movement_difference;

insert into measure.daily_movement as total
select *
from daily_movement_difference
order by app_id, environment, store, product_id, country, offer, day
on conflict (app_id, environment, store, product_id, country, offer, day) do update set
    new = total.new + excluded.new,
    trial_converted = total.trial_converted + excluded.trial_converted,
    reactivated = total.reactivated + excluded.reactivated,
    won_back = total.won_back + excluded.won_back,
    recovered = total.recovered + excluded.recovered,
    refund_reversed = total.refund_reversed + excluded.refund_reversed,
    resumed = total.resumed + excluded.resumed,
    moved_in = total.moved_in + excluded.moved_in,
    churned_voluntary = total.churned_voluntary + excluded.churned_voluntary,
    churned_billing = total.churned_billing + excluded.churned_billing,
    churned_price_increase = total.churned_price_increase + excluded.churned_price_increase,
    churned_product_unavailable = total.churned_product_unavailable + excluded.churned_product_unavailable,
    churned_refunded = total.churned_refunded + excluded.churned_refunded,
    churned_other = total.churned_other + excluded.churned_other,
    churned_unconfirmed = total.churned_unconfirmed + excluded.churned_unconfirmed,
    suspended = total.suspended + excluded.suspended,
    pauses = total.pauses + excluded.pauses,
    moved_out = total.moved_out + excluded.moved_out,
    renewed = total.renewed + excluded.renewed,
    upgraded = total.upgraded + excluded.upgraded,
    downgraded = total.downgraded + excluded.downgraded,
    crossgraded = total.crossgraded + excluded.crossgraded,
    active = total.active + excluded.active,
    trial = total.trial + excluded.trial,
    grace = total.grace + excluded.grace,
    retry = total.retry + excluded.retry,
    set_to_cancel = total.set_to_cancel + excluded.set_to_cancel,
    paused = total.paused + excluded.paused,
    family = total.family + excluded.family;

-- A row in which nothing is left is none: another book, or a fact that was corrected, has moved it elsewhere.
delete from measure.daily_movement as total
using daily_movement_difference as changed
where
    total.app_id = changed.app_id
    and total.environment = changed.environment
    and total.store = changed.store
    and total.product_id = changed.product_id
    and total.country = changed.country
    and total.offer = changed.offer
    and total.day = changed.day
    and (
        total.new, total.trial_converted, total.reactivated, total.won_back, total.recovered, total.refund_reversed,
        total.resumed, total.moved_in, total.churned_voluntary, total.churned_billing, total.churned_price_increase,
        total.churned_product_unavailable, total.churned_refunded, total.churned_other, total.churned_unconfirmed,
        total.suspended, total.pauses, total.moved_out, total.renewed, total.upgraded, total.downgraded,
        total.crossgraded, total.active, total.trial, total.grace, total.retry, total.set_to_cancel, total.paused,
        total.family
    ) = (
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    );

-- Closings of the months that changed, and of all later ones that are stored.
create temp table monthly_difference on commit drop as
select
    app_id,
environment,
store,
product_id,
country,
offer,
    date_trunc('month', day)::date as month,
    sum(active) as active,
    sum(trial) as trial,
    sum(grace) as grace,
    sum(retry) as retry,
    sum(set_to_cancel) as set_to_cancel,
    sum(paused) as paused,
    sum(family) as family
from daily_movement_difference
group by app_id, environment, store, product_id, country, offer, date_trunc('month', day)::date
having
    sum(active) <> 0
    or sum(trial) <> 0
    or sum(grace) <> 0
    or sum(retry) <> 0
    or sum(set_to_cancel) <> 0
    or sum(paused) <> 0
    or sum(family) <> 0;

-- A month that had none begins with the closing of the month before it.
insert into measure.monthly_closing
select
    difference.app_id,
difference.environment,
difference.store,
difference.product_id,
difference.country,
    difference.offer,
difference.month,
    coalesce(before.active, 0),
    coalesce(before.trial, 0),
    coalesce(before.grace, 0),
    coalesce(before.retry, 0),
    coalesce(before.set_to_cancel, 0),
    coalesce(before.paused, 0),
    coalesce(before.family, 0)
from monthly_difference as difference
left join lateral (
    select closing.*
    from measure.monthly_closing as closing
    where
        closing.app_id = difference.app_id
        and closing.environment = difference.environment
        and closing.store = difference.store
        and closing.product_id = difference.product_id
        and closing.country = difference.country
        and closing.offer = difference.offer
        and closing.month < difference.month
    order by closing.month desc
    limit 1
) as before on true
on conflict do nothing;

update measure.monthly_closing as closing
set
    active = closing.active + step.active,
    trial = closing.trial + step.trial,
    grace = closing.grace + step.grace,
    retry = closing.retry + step.retry,
    set_to_cancel = closing.set_to_cancel + step.set_to_cancel,
    paused = closing.paused + step.paused,
    family = closing.family + step.family
from (
    select
        stored.app_id,
stored.environment,
stored.store,
stored.product_id,
stored.country,
stored.offer,
stored.month,
        sum(difference.active) as active,
        sum(difference.trial) as trial,
        sum(difference.grace) as grace,
        sum(difference.retry) as retry,
        sum(difference.set_to_cancel) as set_to_cancel,
        sum(difference.paused) as paused,
        sum(difference.family) as family
    from monthly_difference as difference
    inner join measure.monthly_closing as stored
        on
            difference.app_id = stored.app_id
            and difference.environment = stored.environment
            and difference.store = stored.store
            and difference.product_id = stored.product_id
            and difference.country = stored.country
            and difference.offer = stored.offer
            and difference.month <= stored.month
    group by
        stored.app_id, stored.environment, stored.store, stored.product_id, stored.country, stored.offer, stored.month
) as step
where
    step.app_id = closing.app_id
    and step.environment = closing.environment
    and step.store = closing.store
    and step.product_id = closing.product_id
    and step.country = closing.country
    and step.offer = closing.offer
    and step.month = closing.month;

create temp table daily_revenue_difference on commit drop as
select
    app_id,
    environment,
    store,
    product_id,
    country,
    offer,
    currency,
    kind,
    day,
    sum(charges) as charges,
    sum(unpriced_charges) as unpriced_charges,
    sum(gross) as gross,
    sum(refunded_charges) as refunded_charges,
    sum(unknown_refunds) as unknown_refunds,
    sum(refunds) as refunds,
    sum(refunded_charges_by_purchase_day) as refunded_charges_by_purchase_day,
    sum(unknown_refunds_by_purchase_day) as unknown_refunds_by_purchase_day,
    sum(refunds_by_purchase_day) as refunds_by_purchase_day,
    sum(tax) as tax,
    sum(untaxed) as untaxed,
    sum(commission) as commission,
    sum(uncommissioned) as uncommissioned,
    sum(proceeds) as proceeds,
    sum(unproceeded) as unproceeded
from (
    -- charges
    select
        app_id,
environment,
store,
product_id,
country,
offer,
currency,
charge as kind,
day,
        sum(sign) as charges,
        coalesce(sum(sign) filter (where amount is null), 0) as unpriced_charges,
        coalesce(sum(sign * amount), 0) as gross,
        0 as refunded_charges,
        0 as unknown_refunds,
        0 as refunds,
        0 as refunded_charges_by_purchase_day,
        0 as unknown_refunds_by_purchase_day,
        0 as refunds_by_purchase_day,
        coalesce(sum(sign * tax), 0) as tax,
        coalesce(sum(sign) filter (where tax is null), 0) as untaxed,
        coalesce(sum(sign * commission), 0) as commission,
        coalesce(sum(sign) filter (where commission is null), 0) as uncommissioned,
        coalesce(sum(sign * proceeds), 0) as proceeds,
        coalesce(sum(sign) filter (where proceeds is null), 0) as unproceeded
    from counted
    where charge is not null and part = 0
    group by app_id, environment, store, product_id, country, offer, currency, charge, day
    union all
    -- refunds, on the day of the refund; what takes one back counts against it, but its unknown tax is not another's known
    select
        app_id,
environment,
store,
product_id,
country,
offer,
currency,
charge,
day,
        0,
        0,
        0,
        sum(back),
        coalesce(sum(back) filter (where amount is null), 0),
        coalesce(sum(sign * amount), 0),
        0,
        0,
        0,
        coalesce(sum(sign * tax), 0),
        coalesce(sum(sign) filter (where tax is null), 0),
        coalesce(sum(sign * commission), 0),
        coalesce(sum(sign) filter (where commission is null), 0),
        coalesce(sum(sign * proceeds), 0),
        coalesce(sum(sign) filter (where proceeds is null), 0)
    from (
        select
            *,
            case when kind = 'refund_reversed' then -sign else sign end as back
        from counted
        where charge is not null and part = 1
    ) as refund
    group by app_id, environment, store, product_id, country, offer, currency, charge, day
    union all
    -- the same on the day of the purchase
    select
        app_id,
environment,
store,
product_id,
country,
offer,
currency,
charge,
purchase_day,
        0,
        0,
        0,
        0,
        0,
        0,
        sum(back),
        coalesce(sum(back) filter (where amount is null), 0),
        coalesce(sum(sign * amount), 0),
        0,
        0,
        0,
        0,
        0,
        0
    from (
        select
            *,
            case when kind = 'refund_reversed' then -sign else sign end as back
        from counted
        where charge is not null and part = 1
    ) as refund
    group by app_id, environment, store, product_id, country, offer, currency, charge, purchase_day
    union all
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        offer,
        currency,
        kind,
        day,
        -charges,
        -unpriced_charges,
        -gross,
        -refunded_charges,
        -unknown_refunds,
        -refunds,
        -refunded_charges_by_purchase_day,
        -unknown_refunds_by_purchase_day,
        -refunds_by_purchase_day,
        -tax,
        -untaxed,
        -commission,
        -uncommissioned,
        -proceeds,
        -unproceeded
    from measure.daily_revenue
    where (select is_new_book from this_run)
) as differences
group by app_id, environment, store, product_id, country, offer, currency, kind, day
having sum(charges) <> 0
    or sum(unpriced_charges) <> 0
    or sum(gross) <> 0
    or sum(refunded_charges) <> 0
    or sum(unknown_refunds) <> 0
    or sum(refunds) <> 0
    or sum(refunded_charges_by_purchase_day) <> 0
    or sum(unknown_refunds_by_purchase_day) <> 0
    or sum(refunds_by_purchase_day) <> 0
    or sum(tax) <> 0
    or sum(untaxed) <> 0
    or sum(commission) <> 0
    or sum(uncommissioned) <> 0
    or sum(proceeds) <> 0
    or sum(unproceeded) <> 0;

insert into measure.daily_revenue_change
select
    (select run_id from this_run),
    daily_revenue_difference.*
from daily_revenue_difference;

insert into measure.daily_revenue as total
select *
from daily_revenue_difference
order by app_id, environment, store, product_id, country, offer, currency, kind, day
on conflict (app_id, environment, store, product_id, country, offer, currency, kind, day) do update set
    charges = total.charges + excluded.charges,
    unpriced_charges = total.unpriced_charges + excluded.unpriced_charges,
    gross = total.gross + excluded.gross,
    refunded_charges = total.refunded_charges + excluded.refunded_charges,
    unknown_refunds = total.unknown_refunds + excluded.unknown_refunds,
    refunds = total.refunds + excluded.refunds,
    refunded_charges_by_purchase_day
    = total.refunded_charges_by_purchase_day + excluded.refunded_charges_by_purchase_day,
    unknown_refunds_by_purchase_day = total.unknown_refunds_by_purchase_day + excluded.unknown_refunds_by_purchase_day,
    refunds_by_purchase_day = total.refunds_by_purchase_day + excluded.refunds_by_purchase_day,
    tax = total.tax + excluded.tax,
    untaxed = total.untaxed + excluded.untaxed,
    commission = total.commission + excluded.commission,
    uncommissioned = total.uncommissioned + excluded.uncommissioned,
    proceeds = total.proceeds + excluded.proceeds,
    unproceeded = total.unproceeded + excluded.unproceeded;

create temp table daily_subscriber_difference on commit drop as
select
    app_id,
    environment,
    day,
    sum(active) as active
from (
    select
        app_id,
        environment,
        (at at time zone (select zone from this_run))::date as day,
        sum(sign * active) as active
    from (
        select
app_id,
environment,
at,
sign,
active
        from subscriber_posted
        where not (select is_new_book from this_run)
        union all
        select
app_id,
environment,
at,
sign,
active
        from ledger.subscriber_entry
        where (select is_new_book from this_run)
    ) as moves
    group by app_id, environment, (at at time zone (select zone from this_run))::date
    union all
    select
        app_id,
        environment,
        day,
        -active
    from measure.daily_subscriber
    where (select is_new_book from this_run)
) as differences
group by app_id, environment, day
having sum(active) <> 0;

insert into measure.daily_subscriber_change
select
    (select run_id from this_run),
    daily_subscriber_difference.*
from daily_subscriber_difference;

insert into measure.daily_subscriber as total
select *
from daily_subscriber_difference
order by app_id, environment, day
on conflict (app_id, environment, day) do update set
    active = total.active + excluded.active;

delete from measure.daily_subscriber as total
using daily_subscriber_difference as changed
where
    total.app_id = changed.app_id
    and total.environment = changed.environment
    and total.day = changed.day
    and total.active = 0;
