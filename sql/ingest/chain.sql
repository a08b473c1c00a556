-- Puts down chains at first sight.
insert into fact.chain (
    subscription_key, app_id, store, environment, original_transaction_id, app_transaction_id
)
select
    subscription_key,
    app_id,
    store,
    environment,
    original_transaction_id,
    app_transaction_id
from staged_chain
order by subscription_key
on conflict do nothing;
