-- Takes the facts that no run has read and that count by now. Rows written meanwhile stay for the next run.
create temp table unsettled (
    subscription_key bigint not null,
    transaction_id text,
    at timestamptz not null
) on commit drop;

with taken as (
    delete from ledger.unsettled
    where due_at < (select as_of from this_run)
    returning subscription_key, transaction_id, at
)

insert into unsettled
select
subscription_key,
transaction_id,
at
from taken;

-- A rebuild reads every fact, whatever earlier runs have read.
insert into unsettled
select
subscription_key,
transaction_id,
'-infinity'
from fact.transaction
where (select is_rebuild from this_run);

insert into unsettled
select
subscription_key,
null,
'-infinity'
from fact.chain
where (select is_rebuild from this_run);

analyze unsettled;
