-- How much was given back, of what was charged on the same day, and of what was charged on the day of the purchase?
create view report.refunds as
with summed as (
    select
        app_id,
        environment,
        store,
        day,
        product_id,
        country,
        currency,
        sum(charges)::bigint as charges,
        sum(refunded_charges)::bigint as refunded_charges,
        sum(unknown_refunds)::bigint as unknown_refunds,
        sum(refunds) as refunds,
        sum(refunded_charges_by_purchase_day)::bigint as refunded_charges_by_purchase_day,
        sum(unknown_refunds_by_purchase_day)::bigint as unknown_refunds_by_purchase_day,
        sum(refunds_by_purchase_day) as refunds_by_purchase_day
    from measure.daily_revenue
    group by app_id, environment, store, day, product_id, country, currency
)

select
    app.app_key as app,
    summed.environment,
    summed.store,
    summed.day,
    nullif(summed.product_id, '') as product_id,
    nullif(summed.country, '') as country,
    nullif(summed.currency, '') as currency,
    summed.charges,
    summed.refunded_charges,
    case
        when summed.unknown_refunds <> 0 and summed.refunded_charges = summed.unknown_refunds and summed.refunds = 0
            then null
        else trim_scale(summed.refunds / 1000000)
    end as amount,
    trim_scale(round(summed.refunded_charges::numeric / nullif(summed.charges, 0), 6)) as share,
    summed.refunded_charges_by_purchase_day,
    case
        when
            summed.unknown_refunds_by_purchase_day <> 0
            and summed.refunded_charges_by_purchase_day = summed.unknown_refunds_by_purchase_day
            and summed.refunds_by_purchase_day = 0
            then null
        else trim_scale(summed.refunds_by_purchase_day / 1000000)
    end as amount_by_purchase_day,
    trim_scale(round(summed.refunded_charges_by_purchase_day::numeric / nullif(summed.charges, 0), 6))
    as share_by_purchase_day,
    ((summed.day + 1)::timestamp at time zone latest.zone) <= latest.as_of as is_complete
from summed
inner join ingest.app as app using (app_id)
cross join measure.latest as latest
where
    summed.charges <> 0
    or summed.refunded_charges <> 0
    or summed.refunds <> 0
    or summed.refunded_charges_by_purchase_day <> 0
    or summed.refunds_by_purchase_day <> 0;

comment on view report.refunds is
'Refunds, one row per day, product, country and currency, by the day of the refund and by the day of the purchase';
comment on column report.refunds.app is 'Dimension: the app''s key';
comment on column report.refunds.environment is 'Dimension: the store''s environment';
comment on column report.refunds.store is 'Dimension: the store';
comment on column report.refunds.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.refunds.product_id is 'Dimension: the product''s id; null where it is unknown';
comment on column report.refunds.country is 'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.refunds.currency is 'Dimension: ISO 4217 code of the amounts; null where the price is unknown';
comment on column report.refunds.charges is 'Flow: charges made on this day';
comment on column report.refunds.refunded_charges is
'Flow: charges refunded on this day, less those whose refund was taken back on it';
comment on column report.refunds.amount is
'Flow: money returned on this day, negative; null where none of the row''s refunds is known';
comment on column report.refunds.share is 'Ratio: refunded_charges / charges';
comment on column report.refunds.refunded_charges_by_purchase_day is
'Flow: charges of this day that were refunded at any time';
comment on column report.refunds.amount_by_purchase_day is
'Flow: money returned at any time for charges of this day, negative; null where none of it is known';
comment on column report.refunds.share_by_purchase_day is 'Ratio: refunded_charges_by_purchase_day / charges';
comment on column report.refunds.is_complete is 'Detail: false for the running day';

grant select on report.refunds to tenure_reader, tenure_support, tenure_writer;
