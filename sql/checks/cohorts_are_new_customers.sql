-- The customers of each first day, and those of them who paid within 7, 14 and 30 days, are as many in the cohorts' values as
-- among the day's new customers.
select
    daily.app_id,
    daily.environment,
    daily.day,
    daily.new_customers,
    cohort.subscribers,
    daily.paid_7d,
    cohort.paid_7d as payers_7d,
    daily.paid_14d,
    cohort.paid_14d as payers_14d,
    daily.paid_30d,
    cohort.paid_30d as payers_30d
from measure.daily_customer as daily
cross join lateral (
    select
        coalesce(sum(value.subscribers), 0) as subscribers,
        coalesce(sum(value.payers) filter (where value.days <= 7), 0) as paid_7d,
        coalesce(sum(value.payers) filter (where value.days <= 14), 0) as paid_14d,
        coalesce(sum(value.payers) filter (where value.days <= 30), 0) as paid_30d
    from measure.cohort_value as value
    where
        value.app_id = daily.app_id and value.environment = daily.environment and value.seen_on = daily.day
) as cohort
where
    (daily.new_customers, daily.paid_7d, daily.paid_14d, daily.paid_30d)
    is distinct from (cohort.subscribers, cohort.paid_7d, cohort.paid_14d, cohort.paid_30d);
