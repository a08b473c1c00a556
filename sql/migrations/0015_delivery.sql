-- What targets may ask for, an order and a limit for each day; and counters of what became of what they were sent.
alter table forward.target
add column is_ordered boolean not null default false,
add column quota_on date,
add column quota_used bigint not null default 0,
add column attempts bigint not null default 0,
add column delivered bigint not null default 0,
add column refused bigint not null default 0;
comment on column forward.target.is_ordered is
'Whether what is told of one subscription is sent one after the other, in the order it happened';
comment on column forward.target.quota_on is 'The day, in UTC, that quota_used counts requests of';
comment on column forward.target.attempts is
'Deliveries tried since it was added, each time counted; likewise the next two. Counters: they never go back';
comment on column forward.target.paced_until is 'Nothing is sent before: its pace. What is due waits within the pass';

update forward.target
set attempts = known.attempts, delivered = known.delivered, refused = known.refused
from (
    select
        delivery.target,
        sum(delivery.attempts) as attempts,
        count(*) filter (where delivery.state = 'delivered') as delivered,
        count(*) filter (where delivery.state = 'refused') as refused
    from forward.delivery as delivery
    group by delivery.target
) as known
where known.target = target.name;

alter table forward.delivery add column occurred_at timestamptz;
comment on column forward.delivery.occurred_at is 'When its event happened; null of what is of no subscription';
update forward.delivery
set occurred_at = event.occurred_at
from ingest.event as event
where
    event.subscription_key = delivery.subscription_key
    and event.app_id = delivery.app_id
    and event.source = delivery.source
    and event.event_id = delivery.event_id;
create index delivery_in_order on forward.delivery (target, subscription_key, occurred_at, delivery_id)
where state = 'waiting';
