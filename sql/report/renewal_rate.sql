-- Of the subscriptions that were due to renew on each day, how many did, and how? Each is in exactly one of renewed,
-- recovered_in_grace, recovered_in_retry, changed_product, lost and open.
create view report.renewal_rate as
select
    app.app_key as app,
    total.environment,
    total.store,
    total.day,
    nullif(total.product_id, '') as product_id,
    nullif(total.country, '') as country,
    total.due,
    total.renewed,
    total.recovered_in_grace,
    total.recovered_in_retry,
    total.changed_product,
    total.lost,
    total.open,
    trim_scale(
        round(
            (total.renewed + total.recovered_in_grace + total.recovered_in_retry + total.changed_product)::numeric
            / nullif(total.due, 0), 6
        )
    ) as renewal_rate,
    trim_scale(
        round(
            (total.renewed + total.recovered_in_grace + total.recovered_in_retry)::numeric / nullif(total.due, 0), 6
        )
    ) as renewal_rate_store,
    ((total.day + 1)::timestamp at time zone latest.zone) <= latest.as_of as is_complete
from measure.daily_renewal as total
inner join ingest.app as app using (app_id)
cross join measure.latest as latest;

comment on view report.renewal_rate is
'Renewals by the day they were due, one row per day, product and country of the period that ended. Due is every period paid '
'for, and a free one after it, that reached its expiry: one that was replaced, refunded or paused before is not';
comment on column report.renewal_rate.app is 'Dimension: the app''s key';
comment on column report.renewal_rate.environment is 'Dimension: the store''s environment';
comment on column report.renewal_rate.store is 'Dimension: the store';
comment on column report.renewal_rate.day is 'Dimension: the reporting day of the expiry, in the reporting time zone';
comment on column report.renewal_rate.product_id is
'Dimension: the id of the product that was to renew; null where it is unknown';
comment on column report.renewal_rate.country is 'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.renewal_rate.due is 'Flow: periods that reached their expiry';
comment on column report.renewal_rate.renewed is 'Flow: followed by the next period of the product';
comment on column report.renewal_rate.recovered_in_grace is
'Flow: followed by a period of any product after the charge had failed, before access was lost';
comment on column report.renewal_rate.recovered_in_retry is
'Flow: followed by a period of any product after access was lost, while the store retried the charge';
comment on column report.renewal_rate.changed_product is 'Flow: followed by a period of another product';
comment on column report.renewal_rate.lost is 'Flow: not followed: access was lost for good';
comment on column report.renewal_rate.open is 'Flow: in grace, in retry, or waited for';
comment on column report.renewal_rate.renewal_rate is
'Ratio: (renewed + recovered_in_grace + recovered_in_retry + changed_product) / due';
comment on column report.renewal_rate.renewal_rate_store is
'Ratio: (renewed + recovered_in_grace + recovered_in_retry) / due';
comment on column report.renewal_rate.is_complete is 'Detail: false for the running day';

grant select on report.renewal_rate to tenure_reader, tenure_support, tenure_writer;
