-- MRR counted straight from the paid periods that run at the as-of moment is what the totals close with, in every row.
with running as (
    -- Many chains pay the same price for the same time.
    select
        chain.app_id,
        chain.environment,
        chain.store,
        period.product_id,
        period.country,
        period.currency,
        case when period.is_free then 0 else period.price end as paid,
        coalesce(
            case when period.offer_discount = 'pay_up_front' then period.offer_period end,
            period.period,
            product.period,
            ledger.usual_length((extract(epoch from period.expires_at - period.purchased_at) / 86400)::numeric)
        ) as length,
        count(*) as chains
    from ledger.period as period
    inner join fact.chain as chain using (subscription_key)
    left join reference.product as product using (app_id, product_id)
    where period.closing is null and period.class = 'own' and not period.is_trial and not period.is_empty
    group by
        chain.app_id,
        chain.environment,
        chain.store,
        period.product_id,
        period.country,
        period.currency,
        paid,
        length
),

monthly as (
    select
        running.*,
        ledger.monthly_price(running.paid, running.length, this_run.mrr_factors) as mrr
    from running
    cross join this_run
),

counted as (
    select
        app_id,
        environment,
        store,
        coalesce(product_id, '') as product_id,
        coalesce(country, '') as country,
        case when mrr <> 0 then currency else '' end as currency,
        sum(mrr * chains) as running,
        0 as closing,
        sum(case when mrr is null then chains else 0 end) as unpriced_running,
        0 as unpriced_closing
    from monthly
    group by app_id, environment, store, product_id, country, case when mrr <> 0 then currency else '' end
    union all
    select
        app_id,
        environment,
        store,
        product_id,
        country,
        currency,
        0,
        new + reactivation + expansion + contraction + churn + suspension + recovery + moved_in + moved_out,
        0,
        unpriced
    from measure.daily_mrr
)

select
    app_id,
    environment,
    store,
    product_id,
    country,
    currency,
    sum(running) as running,
    sum(closing) as closing,
    sum(unpriced_running) as unpriced_running,
    sum(unpriced_closing) as unpriced_closing
from counted
group by app_id, environment, store, product_id, country, currency
having
    coalesce(sum(running), 0) <> coalesce(sum(closing), 0)
    or sum(unpriced_running) <> sum(unpriced_closing);
