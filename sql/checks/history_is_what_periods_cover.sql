-- On one day drawn from history, another for each run, the active chains and their MRR counted straight from the periods
-- are those that the totals close with.
with span as (
    select
        min(day) as first_day,
        ((this_run.as_of - interval '1 microsecond') at time zone this_run.zone)::date as last_day
    from measure.daily_movement
    cross join this_run
    group by this_run.as_of, this_run.zone
),

drawn as (
    select
        span.first_day
        + mod(abs(hashint8(this_run.run_id)::bigint), span.last_day - span.first_day + 1)::integer as day
    from span
    cross join this_run
),

moment as (
    select
        drawn.day,
        least((drawn.day + 1)::timestamp at time zone this_run.zone, this_run.as_of) as at,
        this_run.mrr_factors
    from drawn
    cross join this_run
),

covering as (
    select
        period.subscription_key,
        period.product_id,
        period.currency,
        case when period.is_free then 0 else period.price end as price,
        case when period.offer_discount = 'pay_up_front' then period.offer_period end as offer_period,
        period.period,
        period.expires_at - period.purchased_at as length,
        moment.mrr_factors
    from ledger.period as period
    cross join moment
    where
        period.class = 'own'
        and not period.is_trial
        and not period.is_empty
        and period.purchased_at < moment.at
        and (period.closing is null or period.closed_at >= moment.at)
        -- A refund of before the period's end that was taken back interrupted it; one of later changed no access.
        and (
            period.revoked_at is null
            or not exists (
                select
                from unnest(period.revoked_at, period.restored_at) as taken (revoked_at, restored_at)
                where
                    taken.revoked_at < moment.at
                    and taken.revoked_at < period.expires_at
                    and taken.restored_at >= moment.at
            )
        )
),

priced as (
    select
        chain.app_id,
        chain.environment,
        chain.store,
        covering.currency,
        covering.price,
        coalesce(
            covering.offer_period,
            covering.period,
            product.period,
            ledger.usual_length((extract(epoch from covering.length) / 86400)::numeric)
        ) as paid_for,
        covering.mrr_factors,
        count(*) as chains
    from covering
    inner join fact.chain as chain using (subscription_key)
    left join reference.product as product using (app_id, product_id)
    group by
        chain.app_id,
        chain.environment,
        chain.store,
        covering.currency,
        covering.price,
        paid_for,
        covering.mrr_factors
),

counted as (
    select
        app_id,
        environment,
        store,
        currency,
        chains,
        0 as closing,
        ledger.monthly_price(price, paid_for, mrr_factors) * chains as mrr,
        0 as mrr_closing
    from priced
    union all
    select
        total.app_id,
        total.environment,
        total.store,
        null,
        0,
        total.active,
        0,
        0
    from measure.daily_movement as total
    inner join drawn on total.day <= drawn.day
    union all
    select
        total.app_id,
        total.environment,
        total.store,
        total.currency,
        0,
        0,
        0,
        total.new + total.reactivation + total.expansion + total.contraction + total.churn + total.suspension
        + total.recovery + total.moved_in + total.moved_out
    from measure.daily_mrr as total
    inner join drawn on total.day <= drawn.day
)

select
    drawn.day,
    compared.*
from (
    select
        app_id,
        environment,
        store,
        null as currency,
        sum(chains) as counted,
        sum(closing) as closing
    from counted
    group by app_id, environment, store
    union all
    select
        app_id,
        environment,
        store,
        currency,
        coalesce(sum(mrr), 0),
        sum(mrr_closing)
    from counted
    where currency is not null
    group by app_id, environment, store, currency
) as compared
cross join drawn
where compared.counted <> compared.closing;
