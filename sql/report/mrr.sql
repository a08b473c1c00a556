-- What do the active subscriptions bring in a month? Price of the running period brought to a month, at the end of each day.
create view report.mrr as
select
    app.app_key as app,
    closing.environment,
    closing.store,
    closing.day,
    nullif(closing.product_id, '') as product_id,
    nullif(closing.country, '') as country,
    nullif(closing.currency, '') as currency,
    case when closing.currency <> '' then trim_scale(closing.mrr / 1000000) end as mrr,
    case when closing.currency <> '' then trim_scale(closing.mrr * 12 / 1000000) end as arr,
    case
        when closing.currency <> '' and closing.unconverted = 0 then trim_scale(closing.converted / 1000000)
    end as mrr_converted,
    latest.currency as converted_to,
    closing.unpriced::bigint as unpriced_subscriptions,
    closing.is_complete
from measure.daily_mrr_closing as closing
inner join ingest.app as app using (app_id)
cross join measure.latest as latest;

comment on view report.mrr is
'MRR at the end of each day, one row per day, product, country and currency, in units of that currency';
comment on column report.mrr.app is 'Dimension: the app''s key';
comment on column report.mrr.environment is 'Dimension: the store''s environment';
comment on column report.mrr.store is 'Dimension: the store';
comment on column report.mrr.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.mrr.product_id is 'Dimension: the product''s id; null where it is unknown';
comment on column report.mrr.country is 'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.mrr.currency is 'Dimension: ISO 4217 code of the amounts; null for chains of unknown price';
comment on column report.mrr.mrr is
'Stock: sum over active chains of the running period''s price, brought to a month; null for unknown prices';
comment on column report.mrr.arr is 'Stock: 12 x mrr';
comment on column report.mrr.mrr_converted is
'Stock: mrr in the reporting currency at the rates of the purchase days; null where part of it has no rate';
comment on column report.mrr.converted_to is 'Detail: the reporting currency';
comment on column report.mrr.unpriced_subscriptions is 'Stock: active chains of unknown price, which are in no MRR';
comment on column report.mrr.is_complete is 'Detail: false for the running day';

grant select on report.mrr to tenure_reader, tenure_support, tenure_writer;
