-- Settles what belongs to customers of whom an alias or a transfer is new, also to those from whom it came to them.
with recursive taken as (
    delete from ledger.renamed
    where due_at < (select as_of from this_run)
    returning
        app_id,
        subscriber_id
),

concerned as (
    select
        app_id,
        subscriber_id
    from taken
    union
    select
        transfer.app_id,
        transfer.from_id
    from concerned
    inner join fact.transfer as transfer
        on transfer.app_id = concerned.app_id and transfer.to_id = concerned.subscriber_id
)

insert into unsettled
select
    subscriber.subscription_key,
    null,
    min(subscriber.occurred_at)
from concerned
inner join fact.subscriber as subscriber using (subscriber_id)
inner join fact.chain using (subscription_key, app_id)
where subscriber.occurred_at < (select as_of from this_run)
group by subscriber.subscription_key;

analyze unsettled;
