-- Deliveries to targets, one row each: where they stand and what the last request said.
create view report.deliveries as
select
    app.app_key as app,
    coalesce(event.environment, digest.body ->> 'environment') as environment,
    event.store,
    delivery.delivery_id,
    delivery.target,
    delivery.event_id,
    case when delivery.state = 'waiting' and target.state = 'paused' then 'held' else delivery.state end as state,
    delivery.attempts,
    case
        when delivery.state = 'waiting' and target.state = 'active'
            then greatest(delivery.due_at, target.held_until, target.paced_until)
    end as next_attempt_at,
    delivery.last_status,
    delivery.last_error,
    delivery.delivered_at
from forward.delivery as delivery
left join ingest.app as app on app.app_id = delivery.app_id
inner join forward.target as target on target.name = delivery.target
left join ingest.event as event
    on
        event.subscription_key = delivery.subscription_key
        and event.app_id = delivery.app_id
        and event.source = delivery.source
        and event.event_id = delivery.event_id
left join forward.digest as digest
    on delivery.app_id is null and digest.target = delivery.target and digest.event_id = delivery.event_id;

comment on view report.deliveries is 'Deliveries of events to targets, one row per delivery';
comment on column report.deliveries.app is 'Dimension: key of the app; empty of a digest';
comment on column report.deliveries.environment is 'Dimension: the store''s environment';
comment on column report.deliveries.store is 'Dimension: where the subscription is billed; empty of a digest';
comment on column report.deliveries.delivery_id is 'Dimension: number of the delivery';
comment on column report.deliveries.target is 'Dimension: name of the target';
comment on column report.deliveries.event_id is 'Dimension: the event it was made from; gives the webhook-id';
comment on column report.deliveries.state is
'Dimension: waiting, delivered, refused, or held while its target is paused';
comment on column report.deliveries.attempts is 'Detail: requests made';
comment on column report.deliveries.next_attempt_at is
'Detail: when it is sent next; empty when delivered, refused or held';
comment on column report.deliveries.last_status is
'Detail: HTTP status of the last answer; empty when the last request had none';
comment on column report.deliveries.last_error is 'Detail: why the last request was no delivery, without secrets';
comment on column report.deliveries.delivered_at is 'Detail: when the target took it';

grant select on report.deliveries to tenure_support, tenure_writer;
