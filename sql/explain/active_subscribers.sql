-- Active chains at the end of the day, and whose they are: a subscriber counts with the chain that came first.
select
    running.entry_id,
    running.run_id,
    running.is_standing,
    running.at,
    running.happened,
    running.subscription_key,
    running.transaction_id,
    running.product_id,
    running.active_subscriptions,
    case
        when row_number() over (partition by holder.subscriber_key order by running.at, running.entry_id) = 1 then 1
        else 0
    end as active_subscribers
from active_subscriptions as running
left join lateral (
    select identity.subscriber_key
    from ledger.identity as identity
    where
        identity.subscription_key = running.subscription_key
        and identity.starts_at < (select ends_at from asked)
    order by identity.starts_at desc
    limit 1
) as holder on true
where running.active_subscriptions <> 0;
