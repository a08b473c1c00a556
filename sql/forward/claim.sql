-- Takes due deliveries for the session $1, which holds the lock of that number, and returns them, the longest due first.
--
-- $2 are the names of the targets that have room and $3 how many more each may have in hand, $4 the numbers of sessions
-- that have ended, $5 what this process has in hand already, $6 how late a delivery may be due and a hold of its target may
-- end.
with lane as (
    select
        target.name,
        target.moved_from,
        target.moved_to,
        target.is_ordered,
        room.capacity
    from unnest($2::text[], $3::bigint[]) as room (target, capacity)
    inner join forward.target as target on target.name = room.target
    where target.state = 'active' and (target.held_until is null or target.held_until <= $6::timestamptz)
),

picked as (
    select
        due.delivery_id,
        lane.moved_from,
        lane.moved_to
    from lane
    cross join lateral (
        select delivery.delivery_id
        from forward.delivery as delivery
        where
            delivery.target = lane.name
            and delivery.state = 'waiting'
            and delivery.due_at <= $6::timestamptz
            and (delivery.claim is null or delivery.claim = any($4::bigint[]))
            and delivery.delivery_id <> all($5::bigint[])
            -- What happened to the subscription before goes before, or is refused.
            and (
                not lane.is_ordered
                or not exists (
                    select from forward.delivery as earlier
                    where
                        earlier.target = delivery.target
                        and earlier.subscription_key = delivery.subscription_key
                        and earlier.state = 'waiting'
                        and (earlier.occurred_at, earlier.delivery_id) < (delivery.occurred_at, delivery.delivery_id)
                )
            )
        order by delivery.due_at, delivery.delivery_id
        limit lane.capacity
        for update skip locked
    ) as due
),

taken as (
    update forward.delivery
    set claim = $1
    from picked
    where delivery.delivery_id = picked.delivery_id
    returning
        delivery.delivery_id,
        delivery.target,
        delivery.event_id,
        delivery.subscription_key,
        delivery.body,
        delivery.failures,
        delivery.failing_since,
        delivery.last_error,
        delivery.occurred_at,
        delivery.due_at,
        picked.moved_from,
        picked.moved_to
)

select *
from taken
order by due_at, delivery_id
