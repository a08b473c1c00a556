-- Of the events that said the same link the least is kept. Only links that change are touched.
insert into fact.link as version (
    subscription_key, previous_subscription_key, event_id
)
select
    staged.subscription_key,
    staged.previous_subscription_key,
    staged.event_id
from staged_link as staged
inner join fact.link as known
    on
        known.subscription_key = staged.subscription_key
        and known.previous_subscription_key = staged.previous_subscription_key
where staged.event_id collate "C" < known.event_id collate "C"
order by staged.subscription_key, staged.previous_subscription_key
on conflict (subscription_key, previous_subscription_key) do update
set event_id = least(version.event_id collate "C", excluded.event_id collate "C");
