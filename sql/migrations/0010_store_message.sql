-- Which App Store messages clients have shown.
create table fact.store_message (
    subscription_key bigint not null,
    message text not null,
    shown_at timestamptz not null,
    source text not null,
    event_id text not null,
    primary key (subscription_key, message, shown_at, source, event_id)
);
comment on table fact.store_message is 'App Store messages that clients report as shown, by the events that report them';
comment on column fact.store_message.message is
'billing_issue, price_increase_consent, win_back_offer or generic; one without a name yet is storekit_ and its number';

grant select, insert, update, delete on fact.store_message to tenure_writer;

-- Few statuses ask for consent, and those who were asked are looked up among all.
create index renewal_asks_consent on fact.renewal (subscription_key) where price_increase = 'pending';
