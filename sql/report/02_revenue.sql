-- What was charged and what was given back, in the currency it was charged in? Nothing here adds across currencies.
create view report.revenue as
select
    app.app_key as app,
    total.environment,
    total.store,
    total.day,
    nullif(total.product_id, '') as product_id,
    nullif(total.country, '') as country,
    total.offer,
    nullif(total.currency, '') as currency,
    total.kind,
    total.charges,
    total.unpriced_charges,
    case when known.amounts then trim_scale(total.gross / 1000000) end as gross,
    case when known.amounts then trim_scale(total.refunds / 1000000) end as refunds,
    case when known.amounts then trim_scale((total.gross + total.refunds) / 1000000) end as net,
    case when known.amounts then trim_scale(total.refunds_by_purchase_day / 1000000) end
    as refunds_by_purchase_day,
    case when known.amounts then trim_scale((total.gross + total.refunds_by_purchase_day) / 1000000) end
    as net_by_purchase_day,
    case when known.moves and total.untaxed = 0 then trim_scale(total.tax / 1000000) end as tax,
    case when known.moves and total.uncommissioned = 0 then trim_scale(total.commission / 1000000) end as commission,
    case when known.moves and total.unproceeded = 0 then trim_scale(total.proceeds / 1000000) end as proceeds,
    case
        when known.moves and total.unproceeded = 0
            then case when total.estimated <> 0 then 'estimated' else 'reported' end
    end as proceeds_basis,
    case when known.conversions then trim_scale(total.converted / 1000000) end as net_converted,
    latest.currency as converted_to,
    total.unconverted as unconverted_charges,
    ((total.day + 1)::timestamp at time zone latest.zone) <= latest.as_of as is_complete
from measure.daily_revenue as total
inner join ingest.app as app using (app_id)
cross join measure.latest as latest
cross join lateral (
    select
        total.charges > total.unpriced_charges or total.refunded_charges <> total.unknown_refunds
        or total.refunded_charges_by_purchase_day <> total.unknown_refunds_by_purchase_day
        or total.refunds <> 0 or total.refunds_by_purchase_day <> 0 as amounts,
        total.charges <> 0 or total.refunded_charges <> 0 or total.refunds <> 0 as moves,
        total.converted <> 0
        -- A charge of 0 needs no rate.
        or total.charges - total.unpriced_charges > total.unconverted
        or total.unconverted = 0 and total.unconverted_refunds = 0
        and (
            total.charges > total.unpriced_charges or total.refunded_charges <> total.unknown_refunds
            or total.refunds <> 0 or total.charges = 0 and total.refunded_charges = 0
        ) as conversions
) as known
where
    total.charges <> 0 or total.refunded_charges <> 0 or total.refunded_charges_by_purchase_day <> 0
    or total.refunds <> 0 or total.refunds_by_purchase_day <> 0;

comment on view report.revenue is
'Revenue, one row per day, product, country, offer, currency and kind of charge, in units of that currency';
comment on column report.revenue.app is 'Dimension: the app''s key';
comment on column report.revenue.environment is 'Dimension: the store''s environment';
comment on column report.revenue.store is 'Dimension: the store';
comment on column report.revenue.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.revenue.product_id is 'Dimension: the product''s id; null where it is unknown';
comment on column report.revenue.country is 'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.revenue.offer is
'Dimension: none, introductory, promotional, code or win_back; an unknown type keeps its word';
comment on column report.revenue.currency is 'Dimension: ISO 4217 code of the amounts; null where the price is unknown';
comment on column report.revenue.kind is
'Dimension: initial, trial_conversion, renewal, billing_recovery, win_back, reactivation, upgrade, downgrade, crossgrade or one_time';
comment on column report.revenue.charges is 'Flow: charges made';
comment on column report.revenue.unpriced_charges is 'Flow: charges of unknown price; part of charges';
comment on column report.revenue.gross is 'Flow: sum of the charges; null where none of the row''s amounts is known';
comment on column report.revenue.refunds is 'Flow: money returned on this day, negative';
comment on column report.revenue.net is 'Flow: gross + refunds';
comment on column report.revenue.refunds_by_purchase_day is
'Flow: money returned at any time for charges of this day, negative';
comment on column report.revenue.net_by_purchase_day is 'Flow: gross + refunds_by_purchase_day';
comment on column report.revenue.tax is 'Whole: tax in net; null where unknown';
comment on column report.revenue.commission is 'Whole: the store''s commission in net; null where unknown';
comment on column report.revenue.proceeds is 'Whole: what the seller receives of net; null where unknown';
comment on column report.revenue.proceeds_basis is
'Detail: reported, or estimated when any charge of the row is; null where proceeds are unknown';
comment on column report.revenue.net_converted is
'Flow: net in the reporting currency at the rates of the purchase days; null where nothing of the row has a rate';
comment on column report.revenue.converted_to is 'Detail: the reporting currency';
comment on column report.revenue.unconverted_charges is 'Flow: charges of known price without a rate, which net_converted leaves out';
comment on column report.revenue.is_complete is 'Detail: false for the running day';

grant select on report.revenue to tenure_reader, tenure_support, tenure_writer;
