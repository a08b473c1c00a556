-- No transaction of a settled chain is counted in another chain of its store as well.
select
    settled.transaction_id,
    settled.subscription_key,
    other.subscription_key as other_subscription_key
from home
inner join ledger.period as settled using (subscription_key, transaction_id)
inner join fact.chain as chain using (subscription_key)
inner join home as named on settled.transaction_id = named.transaction_id
inner join ledger.period as other
    on named.subscription_key = other.subscription_key and named.transaction_id = other.transaction_id
inner join fact.chain as other_chain on other.subscription_key = other_chain.subscription_key
where
    settled.subscription_key < other.subscription_key
    and (chain.app_id, chain.store, chain.environment)
    = (other_chain.app_id, other_chain.store, other_chain.environment);
