-- Of the app transaction ids that events name for a chain the least is kept. Only chains that change are touched.
insert into fact.chain as chain (
    subscription_key, app_id, store, environment, original_transaction_id, app_transaction_id
)
select
    staged.subscription_key,
    staged.app_id,
    staged.store,
    staged.environment,
    staged.original_transaction_id,
    staged.app_transaction_id
from staged_chain as staged
inner join fact.chain as known on known.subscription_key = staged.subscription_key
where
    staged.app_transaction_id is not null
    and (
        known.app_transaction_id is null
        or staged.app_transaction_id collate "C" < known.app_transaction_id collate "C"
    )
order by staged.subscription_key
on conflict (subscription_key) do update
set
    app_transaction_id
    = least(chain.app_transaction_id collate "C", excluded.app_transaction_id collate "C");
