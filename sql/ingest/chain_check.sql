-- Keys that stand for two chains: there must be none.
select
    staged.subscription_key,
    staged.original_transaction_id,
    chain.original_transaction_id as other_original_transaction_id
from staged_chain as staged
inner join fact.chain as chain on chain.subscription_key = staged.subscription_key
where
    (chain.app_id, chain.store, chain.environment, chain.original_transaction_id)
    <> (staged.app_id, staged.store, staged.environment, staged.original_transaction_id);
