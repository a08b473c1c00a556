-- Of the charges that failed on each day, how many were recovered, and when? Each is in exactly one of recovered_in_grace,
-- recovered_in_retry, lost and open.
create view report.billing_recovery as
select
    app.app_key as app,
    total.environment,
    total.store,
    total.day,
    nullif(total.product_id, '') as product_id,
    nullif(total.country, '') as country,
    total.entered_grace,
    total.entered_retry,
    total.recovered_in_grace,
    total.recovered_in_retry,
    total.lost,
    total.open,
    trim_scale(
        round(
            (total.recovered_in_grace + total.recovered_in_retry)::numeric
            / nullif(total.recovered_in_grace + total.recovered_in_retry + total.lost, 0), 6
        )
    ) as recovery_rate,
    ((total.day + 1)::timestamp at time zone latest.zone) <= latest.as_of as is_complete
from measure.daily_failure as total
inner join ingest.app as app using (app_id)
cross join measure.latest as latest;

comment on view report.billing_recovery is
'Charges that failed at a period''s expiry, after trials too, one row per day, product and country of that period';
comment on column report.billing_recovery.app is 'Dimension: the app''s key';
comment on column report.billing_recovery.environment is 'Dimension: the store''s environment';
comment on column report.billing_recovery.store is 'Dimension: the store';
comment on column report.billing_recovery.day is
'Dimension: the reporting day of the expiry at which the charge failed, in the reporting time zone';
comment on column report.billing_recovery.product_id is
'Dimension: the id of the product that was to renew; null where it is unknown';
comment on column report.billing_recovery.country is
'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.billing_recovery.entered_grace is 'Flow: kept access for a grace period';
comment on column report.billing_recovery.entered_retry is 'Flow: lost access while the store retried the charge';
comment on column report.billing_recovery.recovered_in_grace is 'Flow: charged before access was lost';
comment on column report.billing_recovery.recovered_in_retry is 'Flow: charged after access was lost, while retry was open';
comment on column report.billing_recovery.lost is 'Flow: given up: the store said expired, or 60 days had passed';
comment on column report.billing_recovery.open is 'Flow: still in grace or in retry';
comment on column report.billing_recovery.recovery_rate is
'Ratio: (recovered_in_grace + recovered_in_retry) / (recovered_in_grace + recovered_in_retry + lost)';
comment on column report.billing_recovery.is_complete is 'Detail: false for the running day';

grant select on report.billing_recovery to tenure_reader, tenure_support, tenure_writer;
