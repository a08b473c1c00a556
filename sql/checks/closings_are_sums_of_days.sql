-- The stored closings of months are the sums of all their days.
select
    closing.app_id,
    closing.environment,
    closing.store,
    closing.product_id,
    closing.country,
    closing.offer,
    closing.month,
    closing.active,
    summed.active as sum_of_days
from (
    select distinct
app_id,
environment,
store,
product_id,
country,
offer
    from daily_movement_difference
) as touched
inner join measure.monthly_closing as closing using (app_id, environment, store, product_id, country, offer)
cross join lateral (
    select
        coalesce(sum(total.active), 0) as active,
        coalesce(sum(total.trial), 0) as trial,
        coalesce(sum(total.grace), 0) as grace,
        coalesce(sum(total.retry), 0) as retry,
        coalesce(sum(total.set_to_cancel), 0) as set_to_cancel,
        coalesce(sum(total.paused), 0) as paused,
        coalesce(sum(total.family), 0) as family
    from measure.daily_movement as total
    where
        total.app_id = closing.app_id
        and total.environment = closing.environment
        and total.store = closing.store
        and total.product_id = closing.product_id
        and total.country = closing.country
        and total.offer = closing.offer
        and total.day < closing.month + interval '1 month'
) as summed
where
    closing.month = (
        select max(newest.month)
        from measure.monthly_closing as newest
        where
            newest.app_id = closing.app_id
            and newest.environment = closing.environment
            and newest.store = closing.store
            and newest.product_id = closing.product_id
            and newest.country = closing.country
            and newest.offer = closing.offer
    )
    and (
        closing.active,
        closing.trial,
        closing.grace,
        closing.retry,
        closing.set_to_cancel,
        closing.paused,
        closing.family
    ) is distinct from (
        summed.active, summed.trial, summed.grace, summed.retry, summed.set_to_cancel, summed.paused, summed.family
    );
