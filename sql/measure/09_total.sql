-- Brings the daily totals up to date by what was posted, or sums them anew from all entries, and keeps what this run changed.
-- How an entry counts is its sign times its turn.
create temp view totalled as
select
    posting.*,
    false as is_before,
    1 as turn
from posting
where not (select is_summed_anew from this_run)
union all
select
    entry_line.*,
    false,
    1
from ledger.entry_line
where (select is_summed_anew from this_run)
union all
select
    recounted.*,
    version.is_before,
    version.turn
from recounted
cross join (values (true, -1), (false, 1)) as version (is_before, turn);

insert into wanted_rate
with priced as (
    select
        is_before,
        currency,
        purchased_at
    from totalled
    where amount <> 0
    union all
    select
        is_before,
        price_currency,
        purchased_at
    from totalled
    where price <> 0
    union all
    select
        is_before,
        from_currency,
        coalesce(from_purchased_at, purchased_at)
    from totalled
    where from_price <> 0
)

select distinct
    priced.is_before,
    priced.currency,
    (priced.purchased_at at time zone this_run.zone)::date
from priced
cross join this_run
where priced.currency is not null;

call measure.find_rates();

-- How changes of product began that a refund asks, as they stand now and as they stood before this run.
create temp table began on commit drop as
select
    asked.is_before,
    last_word.*
from (
    select distinct
        is_before,
        subscription_key,
        purchased_at,
        transaction_id
    from totalled
    where part = 1 and charge = 'product_change'
) as asked
cross join this_run
cross join lateral (
    select entry.*
    from ledger.entry as entry
    where
        entry.subscription_key = asked.subscription_key
        and entry.purchased_at = asked.purchased_at
        and entry.transaction_id = asked.transaction_id
        and entry.part = 0
        and not (asked.is_before and entry.run_id = this_run.run_id)
    order by entry.run_id desc, entry.sign desc
    limit 1
) as last_word;

create index on began (subscription_key, purchased_at, transaction_id);
analyze began;

create temp table counted on commit drop as
with
-- The tax of a storefront from one day to the next on which it changes.
tax as (
    select
        country,
        rate,
        from_day::timestamp at time zone this_run.zone as starts_at,
        coalesce(
            lead(from_day) over (partition by country order by from_day)::timestamp at time zone this_run.zone,
            'infinity'
        ) as ends_at
    from reference.tax_rate
    cross join this_run
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
    entries.purchased_at,
    (entries.purchased_at at time zone this_run.zone)::date as purchase_day,
    (entries.sign * entries.turn)::smallint as sign,
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
    left_over.tax,
    left_over.commission,
    left_over.proceeds,
    left_over.is_estimated,
    case
        when entries.amount is not null
            then reference.converted(entries.amount, conversion.per_euro, conversion.wanted_per_euro)
    end as converted,
    directed.direction,
    case when entries.charge = 'product_change' then directed.direction else entries.charge end as charge
from totalled as entries
inner join fact.chain as chain using (subscription_key)
cross join this_run
left join programme using (app_id)
left join tax
    on
        entries.country = tax.country
        and entries.purchased_at >= tax.starts_at
        and entries.purchased_at < tax.ends_at
left join conversion
    on
        entries.is_before = conversion.is_before
        and entries.currency = conversion.currency
        and (entries.purchased_at at time zone this_run.zone)::date = conversion.day
cross join lateral measure.left_over(
    entries.amount,
    entries.tax,
    entries.commission,
    entries.proceeds,
    tax.rate,
    measure.commission_rate(chain.store, programme.name, programme.share, entries.is_past_first_year)
) as left_over
-- A change of product is told by its own terms, what is refunded of it by those that the change has.
left join began
    on
        entries.part = 1
        and entries.charge = 'product_change'
        and entries.is_before = began.is_before
        and entries.subscription_key = began.subscription_key
        and entries.purchased_at = began.purchased_at
        and entries.transaction_id = began.transaction_id
cross join lateral (
    select
        case when began.transaction_id is null then entries.product_id else began.product_id end as product_id,
        case when began.transaction_id is null then entries.price else began.price end as price,
        case when began.transaction_id is null then entries.price_currency else began.price_currency end
            as price_currency,
        case when began.transaction_id is null then entries.period else began.period end as period,
        case when began.transaction_id is null then entries.days else began.days end as days,
        case when began.transaction_id is null then entries.from_product_id else began.from_product_id end
            as from_product_id,
        case when began.transaction_id is null then entries.from_price else began.from_price end as from_price,
        case when began.transaction_id is null then entries.from_currency else began.from_currency end
            as from_currency,
        case when began.transaction_id is null then entries.from_period else began.from_period end as from_period,
        case when began.transaction_id is null then entries.from_days else began.from_days end as from_days
) as terms
left join reference.product as product
    on chain.app_id = product.app_id and terms.product_id = product.product_id
left join reference.product as from_product
    on chain.app_id = from_product.app_id and terms.from_product_id = from_product.product_id
cross join lateral (
    select
        case
            when entries.kind = 'product_changed' or entries.charge = 'product_change'
                then
                    measure.direction(
                        product.level,
                        from_product.level,
                        measure.monthly_price(
                            terms.price, terms.period, product.period, terms.days, this_run.mrr_factors
                        ),
                        measure.monthly_price(
                            terms.from_price,
                            terms.from_period,
                            from_product.period,
                            terms.from_days,
                            this_run.mrr_factors
                        ),
                        terms.price_currency,
                        terms.from_currency
                    )
        end as direction
) as directed;

analyze counted (product_id, country, offer, day, purchase_day, currency, charge, part, kind);

create temp view daily_movement_contribution as
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
group by app_id, environment, store, product_id, country, offer, day;

call measure.post('daily_movement');

create temp view daily_revenue_contribution as
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
    coalesce(sum(sign) filter (where proceeds is null), 0) as unproceeded,
    coalesce(sum(sign) filter (where is_estimated), 0) as estimated,
    coalesce(sum(sign * converted), 0) as converted,
    coalesce(sum(sign) filter (where amount is not null and converted is null), 0) as unconverted,
    0 as unconverted_refunds
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
    coalesce(sum(sign) filter (where proceeds is null), 0),
    coalesce(sum(sign) filter (where is_estimated), 0),
    coalesce(sum(sign * converted), 0),
    0,
    -- Told for every refund and whatever takes one back.
    coalesce(sum(sign) filter (where amount is not null and converted is null), 0)
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
group by app_id, environment, store, product_id, country, offer, currency, charge, purchase_day;

call measure.post('daily_revenue');

create temp view daily_subscriber_contribution as
select
    app_id,
    environment,
    (at at time zone (select zone from this_run))::date as day,
    sign * active as active
from (
    select
        app_id,
        environment,
        at,
        sign,
        active
    from subscriber_posted
    where not (select is_summed_anew from this_run)
    union all
    select
        app_id,
        environment,
        at,
        sign,
        active
    from ledger.subscriber_entry
    where (select is_summed_anew from this_run)
) as moves;

call measure.post('daily_subscriber');

insert into measure.posted_day
select
    this_run.run_id,
    chain.app_id,
    chain.environment,
    chain.store,
    (posting.at at time zone this_run.zone)::date,
    count(*)
from posting
inner join fact.chain as chain using (subscription_key)
cross join this_run
group by
    this_run.run_id,
    chain.app_id,
    chain.environment,
    chain.store,
    (posting.at at time zone this_run.zone)::date;
