-- How many subscriptions are active, in trial, in grace, in billing retry, about to end, paused and family-shared at the
-- end of each day?
create view report.active_subscriptions as
select
    app.app_key as app,
    closing.environment,
    closing.store,
    closing.day,
    nullif(closing.product_id, '') as product_id,
    nullif(closing.country, '') as country,
    closing.offer,
    closing.active as active_subscriptions,
    closing.trial as active_trials,
    closing.grace as in_grace,
    closing.retry as in_billing_retry,
    closing.set_to_cancel,
    closing.paused,
    closing.family as family_shared,
    closing.is_complete
from measure.daily_closing as closing
inner join ingest.app as app using (app_id);

comment on view report.active_subscriptions is
'Active subscriptions at the end of each day, one row per day, product, country and offer of the running transaction';
comment on column report.active_subscriptions.app is 'Dimension: the app''s key';
comment on column report.active_subscriptions.environment is 'Dimension: the store''s environment';
comment on column report.active_subscriptions.store is 'Dimension: the store';
comment on column report.active_subscriptions.day is 'Dimension: the reporting day, in the reporting time zone';
comment on column report.active_subscriptions.product_id is 'Dimension: the product''s id; null where it is unknown';
comment on column report.active_subscriptions.country is
'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.active_subscriptions.offer is
'Dimension: none, introductory, promotional, code or win_back; an unknown type keeps its word';
comment on column report.active_subscriptions.active_subscriptions is
'Stock: chains with paid access at the end of the day, grace and the wait for the store''s word included';
comment on column report.active_subscriptions.active_trials is
'Stock: chains in a free trial or its grace; not part of active_subscriptions';
comment on column report.active_subscriptions.in_grace is
'Stock: active subscriptions in a grace period; part of active_subscriptions';
comment on column report.active_subscriptions.in_billing_retry is
'Stock: chains without access whose failed charge the store still retries';
comment on column report.active_subscriptions.set_to_cancel is
'Stock: active subscriptions with auto-renew off; part of active_subscriptions';
comment on column report.active_subscriptions.paused is 'Stock: paused chains';
comment on column report.active_subscriptions.family_shared is
'Stock: chains with access through Family Sharing; not part of active_subscriptions';
comment on column report.active_subscriptions.is_complete is 'Detail: false for the running day';

grant select on report.active_subscriptions to tenure_reader, tenure_support, tenure_writer;
