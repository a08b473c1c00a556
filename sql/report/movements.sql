-- Why is the number of active subscriptions of today not that of yesterday? opening + in - out = closing, for every row.
create view report.movements as
select
    app.app_key as app,
    closing.environment,
    closing.store,
    closing.day,
    nullif(closing.product_id, '') as product_id,
    nullif(closing.country, '') as country,
    closing.offer,
    closing.active - closing.net as opening,
    closing.new,
    closing.trial_converted,
    closing.reactivated,
    closing.won_back,
    closing.recovered,
    closing.refund_reversed,
    closing.resumed,
    closing.moved_in,
    closing.churned_voluntary,
    closing.churned_billing,
    closing.churned_price_increase,
    closing.churned_product_unavailable,
    closing.churned_refunded,
    closing.churned_other,
    closing.churned_unconfirmed,
    closing.suspended,
    closing.pauses as paused,
    closing.moved_out,
    closing.active as closing,
    closing.renewed,
    closing.upgraded,
    closing.downgraded,
    closing.crossgraded,
    closing.is_complete
from measure.daily_closing as closing
inner join ingest.app as app using (app_id);

comment on view report.movements is
'Movements of active subscriptions, one row per day, product, country and offer';
comment on column report.movements.app is 'Dimension: the app''s key';
comment on column report.movements.environment is 'Dimension: the store''s environment';
comment on column report.movements.store is 'Dimension: the store';
comment on column report.movements.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.movements.product_id is 'Dimension: the product''s id; null where it is unknown';
comment on column report.movements.country is 'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.movements.offer is
'Dimension: none, introductory, promotional, code or win_back; an unknown type keeps its word';
comment on column report.movements.opening is 'Opening: active at the start of the day';
comment on column report.movements.new is 'Flow: in, first paid period of a chain';
comment on column report.movements.trial_converted is 'Flow: in, first charge after a trial';
comment on column report.movements.reactivated is 'Flow: in, bought again after access was lost; win-backs included';
comment on column report.movements.won_back is 'Flow: the part of reactivated by a win-back offer; not added again';
comment on column report.movements.recovered is 'Flow: in, a failed charge succeeded after access had been suspended';
comment on column report.movements.refund_reversed is 'Flow: in, access returned because a refund was taken back';
comment on column report.movements.resumed is 'Flow: in, a pause ended with a purchase';
comment on column report.movements.moved_in is
'Flow: in, from the row of another product, country or offer, or from another chain';
comment on column report.movements.churned_voluntary is 'Flow: out, auto-renew was off';
comment on column report.movements.churned_billing is
'Flow: out, the charge failed for good; dated on the day access was lost';
comment on column report.movements.churned_price_increase is 'Flow: out, no consent to a higher price';
comment on column report.movements.churned_product_unavailable is 'Flow: out, the product could no longer be bought';
comment on column report.movements.churned_refunded is 'Flow: out, a refund ended the period';
comment on column report.movements.churned_other is 'Flow: out, for another reason of the store';
comment on column report.movements.churned_unconfirmed is 'Flow: out, the period ended and no word came';
comment on column report.movements.suspended is
'Flow: out, access lost while the store retries the charge; recovered later, or restated as churn';
comment on column report.movements.paused is 'Flow: out, a pause began';
comment on column report.movements.moved_out is
'Flow: out, to the row of another product, country or offer, or to another chain';
comment on column report.movements.closing is 'Stock: active at the end of the day; opening + in - out';
comment on column report.movements.renewed is
'Flow: next periods begun without loss of access and without change of product';
comment on column report.movements.upgraded is 'Flow: changes to a higher product';
comment on column report.movements.downgraded is 'Flow: changes to a lower product';
comment on column report.movements.crossgraded is
'Flow: changes to a product of the same level, or of unknown direction';
comment on column report.movements.is_complete is 'Detail: false for the running day';

grant select on report.movements to tenure_reader, tenure_support, tenure_writer;
