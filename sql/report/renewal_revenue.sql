-- What did renewals bring, in local currency? Renewals and recovered charges; not the first charge after a trial, nor a
-- change of product.
create view report.renewal_revenue as
select *
from report.revenue
where kind in ('renewal', 'billing_recovery');

comment on view report.renewal_revenue is
'Renewal revenue, one row per day, product, country, offer, currency and kind (renewal, billing_recovery)';
comment on column report.renewal_revenue.app is 'Dimension: the app''s key';
comment on column report.renewal_revenue.environment is 'Dimension: the store''s environment';
comment on column report.renewal_revenue.store is 'Dimension: the store';
comment on column report.renewal_revenue.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.renewal_revenue.product_id is 'Dimension: the product''s id; null where it is unknown';
comment on column report.renewal_revenue.country is
'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.renewal_revenue.offer is
'Dimension: none, introductory, promotional, code or win_back; an unknown type keeps its word';
comment on column report.renewal_revenue.currency is
'Dimension: ISO 4217 code of the amounts; null where the price is unknown';
comment on column report.renewal_revenue.kind is 'Dimension: renewal or billing_recovery';
comment on column report.renewal_revenue.charges is 'Flow: charges made';
comment on column report.renewal_revenue.unpriced_charges is 'Flow: charges of unknown price; part of charges';
comment on column report.renewal_revenue.gross is
'Flow: sum of the charges; null where none of the row''s amounts is known';
comment on column report.renewal_revenue.refunds is 'Flow: money returned on this day, negative';
comment on column report.renewal_revenue.net is 'Flow: gross + refunds';
comment on column report.renewal_revenue.refunds_by_purchase_day is
'Flow: money returned at any time for charges of this day, negative';
comment on column report.renewal_revenue.net_by_purchase_day is 'Flow: gross + refunds_by_purchase_day';
comment on column report.renewal_revenue.tax is 'Whole: tax in net; null where unknown';
comment on column report.renewal_revenue.commission is 'Whole: the store''s commission in net; null where unknown';
comment on column report.renewal_revenue.proceeds is 'Whole: what the seller receives of net; null where unknown';
comment on column report.renewal_revenue.proceeds_basis is
'Detail: reported, or estimated when any charge of the row is; null where proceeds are unknown';
comment on column report.renewal_revenue.net_converted is
'Flow: net in the reporting currency at the rates of the purchase days; null where nothing of the row has a rate';
comment on column report.renewal_revenue.converted_to is 'Detail: the reporting currency';
comment on column report.renewal_revenue.unconverted_charges is
'Flow: charges of known price without a rate, which net_converted leaves out';
comment on column report.renewal_revenue.is_complete is 'Detail: false for the running day';

grant select on report.renewal_revenue to tenure_reader, tenure_support, tenure_writer;
