-- Which products are there, and what does each give? The catalogue's word, else what their transactions show.
create view report.products as
select
    app.app_key as app,
    coalesce(seen.environment, 'Production') as environment,
    coalesce(seen.store, 'app_store') as store,
    product_id,
    coalesce(listed.period, seen.period) as period,
    listed.level,
    coalesce(listed.group_name, listed.group_id, seen.group_id) as "group",
    listed.name
from ledger.product as seen
full join reference.product as listed using (app_id, product_id)
inner join ingest.app as app using (app_id);

comment on view report.products is
'Products, one row per app, environment, store and product';
comment on column report.products.app is 'Dimension: the app''s key';
comment on column report.products.environment is 'Dimension: the store''s environment';
comment on column report.products.store is 'Dimension: the store';
comment on column report.products.product_id is 'Dimension: the product''s id';
comment on column report.products.period is 'Detail: its length as an ISO 8601 duration';
comment on column report.products.level is 'Detail: its rank within the group, 1 the highest; null without a catalogue';
comment on column report.products."group" is 'Detail: the subscription group''s name, else its id';
comment on column report.products.name is 'Detail: its name in the catalogue';

grant select on report.products to tenure_reader, tenure_support, tenure_writer;
