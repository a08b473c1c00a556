-- No transaction of a settled chain is counted in another chain of its store as well.
select
    home.transaction_id,
    home.subscription_key,
    other.subscription_key as other_subscription_key
from home
inner join home as other on home.home_key = other.home_key and home.transaction_id = other.transaction_id
inner join
    ledger.period as settled
    on home.subscription_key = settled.subscription_key and home.transaction_id = settled.transaction_id
inner join
    ledger.period as counted
    on other.subscription_key = counted.subscription_key and other.transaction_id = counted.transaction_id
where home.subscription_key < other.subscription_key;
