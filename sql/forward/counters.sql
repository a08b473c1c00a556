-- What became of what the targets were sent, for those that are configured: counters since they were added, and what waits.
select
    target.name,
    target.type,
    target.state = 'paused' as is_paused,
    target.attempts,
    target.delivered,
    target.refused,
    backlog.waiting,
    backlog.oldest_due_at
from forward.target as target
cross join lateral (
    select
        count(*) as waiting,
        min(delivery.due_at) as oldest_due_at
    from forward.delivery as delivery
    where delivery.target = target.name and delivery.state = 'waiting'
) as backlog
where target.is_configured
order by target.name
