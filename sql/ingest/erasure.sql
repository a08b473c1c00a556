-- Puts the names of erasure_name in the place of the identifiers, and removes what holds those in other forms.

-- The chains that name or named one of them, and the events of these chains and of no chain that do.
create temporary table erasure_chain on commit drop as
select subscriber.subscription_key
from erasure_name
inner join fact.chain using (app_id)
inner join fact.subscriber as subscriber using (subscription_key)
where subscriber.subscriber_id = erasure_name.identifier
union
select chain.subscription_key
from erasure_name
inner join fact.chain as chain using (app_id)
where chain.app_transaction_id = erasure_name.identifier;

create temporary table erasure_event on commit drop as
select
    event.app_id,
    event.source,
    event.event_id,
    event.subscription_key
from erasure_chain
inner join ingest.event as event using (subscription_key)
union
select
    event.app_id,
    event.source,
    event.event_id,
    event.subscription_key
from erasure_name
inner join ingest.event as event using (app_id)
where erasure_name.identifier in (event.subscriber_id, event.app_transaction_id);

create index on erasure_event (app_id, source, event_id, subscription_key);
analyze erasure_event;

create temporary table erasure_count on commit drop as
with deliveries as (
    delete from forward.delivery as delivery
    using erasure_event as gone
    where
        delivery.state = 'waiting'
        and delivery.app_id = gone.app_id
        and delivery.source = gone.source
        and delivery.event_id = gone.event_id
        and delivery.subscription_key = gone.subscription_key
    returning delivery.delivery_id
),

payloads as (
    delete from ingest.payload as payload
    where
        (payload.app_id, payload.source, payload.event_id, payload.subscription_key) in (
            select
                app_id,
                source,
                event_id,
                subscription_key
            from erasure_event
        )
        -- What names them without being theirs, such as a transfer.
        or exists (
            select
            from erasure_name
            where
                erasure_name.app_id = payload.app_id
                and position(erasure_name.identifier in payload.body) > 0
                and payload.body ~ erasure_name.pattern
        )
    returning payload.event_id
),

excerpts as (
    update ingest.rejection as rejection
    set excerpt = null
    where
        exists (
            select
            from erasure_name
            where
                coalesce(rejection.app_id, erasure_name.app_id) = erasure_name.app_id
                and rejection.excerpt ~ erasure_name.pattern
        )
    returning rejection.rejection_id
),

events as (
    update ingest.event as event
    set
        subscriber_id = coalesce(subscriber_name.name, event.subscriber_id),
        app_transaction_id = coalesce(app_transaction_name.name, event.app_transaction_id),
        -- The canonical text, its members in their order.
        body = (
            select
                (
                    '{'
                    || string_agg(
                        to_json(member.key) || ':'
                        || case
                            when member.key = 'subscriber_id' and subscriber_name.name is not null
                                then to_json(subscriber_name.name)
                            when member.key = 'app_transaction_id' and app_transaction_name.name is not null
                                then to_json(app_transaction_name.name)
                            else member.value
                        end,
                        ',' order by member.nth
                    )
                    || '}'
                )::json
            from json_each(event.body) with ordinality as member (key, value, nth)
        )
    from erasure_event as gone
    inner join ingest.event as known using (app_id, source, event_id, subscription_key)
    left join erasure_name as subscriber_name
        on known.app_id = subscriber_name.app_id and known.subscriber_id = subscriber_name.identifier
    left join erasure_name as app_transaction_name
        on known.app_id = app_transaction_name.app_id and known.app_transaction_id = app_transaction_name.identifier
    where
        event.app_id = gone.app_id
        and event.source = gone.source
        and event.event_id = gone.event_id
        and event.subscription_key = gone.subscription_key
        and (subscriber_name.name is not null or app_transaction_name.name is not null)
    returning event.event_id
)

select
    (select count(*) from erasure_chain) as subscriptions,
    (select count(*) from events) as events,
    (select count(*) from payloads) as payloads,
    (select count(*) from deliveries) as deliveries,
    (select count(*) from excerpts) as excerpts;

-- What services answered may quote what they were sent.
update forward.delivery as delivery
set
    body = null,
    last_error = null
from erasure_event as gone
where
    delivery.app_id = gone.app_id
    and delivery.source = gone.source
    and delivery.event_id = gone.event_id
    and delivery.subscription_key = gone.subscription_key
    and (delivery.body is not null or delivery.last_error is not null);

update fact.subscriber as subscriber
set subscriber_id = erasure_name.name
from fact.chain as chain
inner join erasure_name using (app_id)
where subscriber.subscription_key = chain.subscription_key and subscriber.subscriber_id = erasure_name.identifier;

update fact.chain as chain
set app_transaction_id = erasure_name.name
from erasure_name
where chain.app_id = erasure_name.app_id and chain.app_transaction_id = erasure_name.identifier;

-- Both ends of what tells ids of one customer together, and of what moved from one to another.
update fact.alias as alias
set subscriber_id = erasure_name.name
from erasure_name
where alias.app_id = erasure_name.app_id and alias.subscriber_id = erasure_name.identifier;

update fact.alias as alias
set customer_id = erasure_name.name
from erasure_name
where alias.app_id = erasure_name.app_id and alias.customer_id = erasure_name.identifier;

update fact.transfer as transfer
set from_id = erasure_name.name
from erasure_name
where transfer.app_id = erasure_name.app_id and transfer.from_id = erasure_name.identifier;

update fact.transfer as transfer
set to_id = erasure_name.name
from erasure_name
where transfer.app_id = erasure_name.app_id and transfer.to_id = erasure_name.identifier;

update ledger.renamed as renamed
set subscriber_id = erasure_name.name
from erasure_name
where renamed.app_id = erasure_name.app_id and renamed.subscriber_id = erasure_name.identifier;

update ledger.identity as identity
set subscriber_id = erasure_name.name
from fact.chain as chain
inner join erasure_name using (app_id)
where identity.subscription_key = chain.subscription_key and identity.subscriber_id = erasure_name.identifier;

-- The next run gives the chains to the new names, all at once, those included that have moved to one of them: they are one
-- subscriber's as before.
insert into ledger.unsettled (subscription_key, transaction_id, at, due_at)
select
    subscription_key,
    null,
    timestamptz '0001-01-01 00:00:00+00',
    timestamptz '0001-01-01 00:00:00+00'
from (
    select subscription_key
    from erasure_chain
    union
    select identity.subscription_key
    from erasure_name
    inner join fact.chain as chain using (app_id)
    inner join
        ledger.identity as identity
        on chain.subscription_key = identity.subscription_key and erasure_name.name = identity.subscriber_id
) as concerned;
