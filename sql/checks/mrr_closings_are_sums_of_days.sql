-- The stored closings of MRR are the sums of all their days.
select
    closing.*,
    summed.mrr as sum_of_days
from (
    select distinct
        app_id,
        environment,
        store,
        product_id,
        country,
        currency
    from daily_mrr_difference
) as touched
cross join lateral (
    select newest.*
    from measure.monthly_mrr as newest
    where
        newest.app_id = touched.app_id
        and newest.environment = touched.environment
        and newest.store = touched.store
        and newest.product_id = touched.product_id
        and newest.country = touched.country
        and newest.currency = touched.currency
    order by newest.month desc
    limit 1
) as closing
cross join lateral (
    select
        sum(
            total.new + total.reactivation + total.expansion + total.contraction + total.churn + total.suspension
            + total.recovery + total.moved_in + total.moved_out
        ) as mrr,
        sum(total.unpriced) as unpriced,
        sum(total.converted) as converted,
        sum(total.unconverted) as unconverted
    from measure.daily_mrr as total
    where
        total.app_id = closing.app_id
        and total.environment = closing.environment
        and total.store = closing.store
        and total.product_id = closing.product_id
        and total.country = closing.country
        and total.currency = closing.currency
        and total.day < closing.month + interval '1 month'
) as summed
where
    (closing.mrr, closing.unpriced, closing.converted, closing.unconverted)
    is distinct from (
        coalesce(summed.mrr, 0),
        coalesce(summed.unpriced, 0),
        coalesce(summed.converted, 0),
        coalesce(summed.unconverted, 0)
    );
