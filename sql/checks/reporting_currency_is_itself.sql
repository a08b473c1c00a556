-- What is in the reporting currency already converts to itself, and MRR is the sum of its movements.
select
    'revenue' as total,
    total.app_id,
    total.environment,
    total.store,
    total.product_id,
    total.country,
    total.day,
    total.gross + total.refunds as amount,
    total.converted
from measure.daily_revenue as total
inner join this_run using (currency)
where total.converted <> total.gross + total.refunds or total.unconverted <> 0 or total.unconverted_refunds <> 0
union all
select
    'mrr',
    total.app_id,
    total.environment,
    total.store,
    total.product_id,
    total.country,
    total.day,
    total.new + total.reactivation + total.expansion + total.contraction + total.churn + total.suspension
    + total.recovery + total.moved_in + total.moved_out,
    total.converted
from measure.daily_mrr as total
cross join this_run
where
    total.mrr <> total.new + total.reactivation + total.expansion + total.contraction + total.churn + total.suspension
    + total.recovery + total.moved_in + total.moved_out
    or total.currency = this_run.currency and (total.converted <> total.mrr or total.unconverted <> 0);
