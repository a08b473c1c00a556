-- Why is the MRR of today not that of yesterday? opening and the signed movements add up to closing, for every row.
create view report.mrr_movement as
select
    app.app_key as app,
    closing.environment,
    closing.store,
    closing.day,
    nullif(closing.product_id, '') as product_id,
    nullif(closing.country, '') as country,
    closing.currency,
    trim_scale(
        (
            closing.mrr - closing.new - closing.reactivation - closing.expansion - closing.contraction - closing.churn
            - closing.suspension - closing.recovery - closing.moved_in - closing.moved_out
        ) / 1000000
    ) as opening,
    trim_scale(closing.new / 1000000) as new,
    trim_scale(closing.reactivation / 1000000) as reactivation,
    trim_scale(closing.expansion / 1000000) as expansion,
    trim_scale(closing.contraction / 1000000) as contraction,
    trim_scale(closing.churn / 1000000) as churn,
    trim_scale(closing.suspension / 1000000) as suspension,
    trim_scale(closing.recovery / 1000000) as recovery,
    trim_scale(closing.moved_in / 1000000) as moved_in,
    trim_scale(closing.moved_out / 1000000) as moved_out,
    trim_scale(closing.mrr / 1000000) as closing,
    closing.is_complete
from measure.daily_mrr_closing as closing
inner join ingest.app as app using (app_id)
where closing.currency <> '';

comment on view report.mrr_movement is
'Movements of MRR, one row per day, product, country and currency, in units of that currency';
comment on column report.mrr_movement.app is 'Dimension: the app''s key';
comment on column report.mrr_movement.environment is 'Dimension: the store''s environment';
comment on column report.mrr_movement.store is 'Dimension: the store';
comment on column report.mrr_movement.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.mrr_movement.product_id is 'Dimension: the product''s id; null where it is unknown';
comment on column report.mrr_movement.country is 'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.mrr_movement.currency is 'Dimension: ISO 4217 code of the amounts';
comment on column report.mrr_movement.opening is 'Opening: MRR at the start of the day';
comment on column report.mrr_movement.new is
'Flow: of chains that became active for the first time, trials converted included';
comment on column report.mrr_movement.reactivation is
'Flow: of chains that came back after access was lost, refunds taken back included';
comment on column report.mrr_movement.expansion is 'Flow: what running chains came to bring more';
comment on column report.mrr_movement.contraction is 'Flow: what running chains came to bring less, negative';
comment on column report.mrr_movement.churn is 'Flow: of chains that lost access for whatever reason, negative';
comment on column report.mrr_movement.suspension is
'Flow: of chains whose charge failed and is retried, and of chains that were paused; negative';
comment on column report.mrr_movement.recovery is
'Flow: of chains whose charge succeeded after access was suspended, and of chains resumed';
comment on column report.mrr_movement.moved_in is
'Flow: from the row of another product, country or currency, or from an unknown price';
comment on column report.mrr_movement.moved_out is
'Flow: to the row of another product, country or currency, or to an unknown price; negative';
comment on column report.mrr_movement.closing is 'Stock: MRR at the end of the day';
comment on column report.mrr_movement.is_complete is 'Detail: false for the running day';

grant select on report.mrr_movement to tenure_reader, tenure_support, tenure_writer;
