-- Who customers are, as vendors tell it: the ids of one and the same customer, and customers whose purchases moved to
-- another. Of customers, not of chains: few rows, in no chain's order.
create table fact.alias (
    app_id bigint not null,
    source text not null,
    subscriber_id text not null,
    customer_id text not null,
    said_at timestamptz not null,
    primary key (app_id, source, subscriber_id, customer_id)
);
comment on table fact.alias is 'Ids that stand for the same customer as another id does';
comment on column fact.alias.customer_id is 'The id that stands for all of a customer''s ids';
comment on column fact.alias.said_at is 'When that was first said: of several customers the newest counts';

create table fact.transfer (
    app_id bigint not null,
    source text not null,
    event_id text not null,
    from_id text not null,
    to_id text not null,
    transferred_at timestamptz not null,
    primary key (app_id, source, event_id, from_id)
);
create index transfer_to on fact.transfer (app_id, to_id);
comment on table fact.transfer is 'From a moment on, what belonged to one customer belongs to another';
comment on column fact.transfer.transferred_at is
'When; of an event whose clock is more than a day ahead, when it was received';

-- Whose chains are they, by a customer's id?
create index subscriber_of_any_chain on fact.subscriber (subscriber_id);

create table ledger.renamed (
    app_id bigint not null,
    subscriber_id text not null,
    due_at timestamptz not null
);
comment on table ledger.renamed is
'Customers'' ids of which an alias or a transfer is new: what belongs to them is settled by the next run after due_at';

-- How far a source is believed, as the column source_rank of facts has it.
create function fact.source_rank(source text) returns smallint
language sql immutable parallel safe
return case source
    when 'app_store' then 4
    when 'app_client' then 4
    when 'app_store_receipt' then 3
    when 'revenuecat' then 2
    when 'adapty' then 2
    when 'apphud' then 2
    else 1
end;
comment on function fact.source_rank(text) is 'How far a source is believed where sources disagree; the greater wins';

grant select, insert, update, delete on fact.alias, fact.transfer, ledger.renamed to tenure_writer;
grant execute on function fact.source_rank(text) to tenure_writer;
