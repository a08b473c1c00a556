-- What tells of the quality of the data, put down where it is seen, so that the report reads no more than that.
create table ingest.heard_day (
    app_id bigint not null,
    source text not null,
    environment text not null,
    day date not null,
    primary key (app_id, source, environment, day)
);
comment on table ingest.heard_day is
'Days, in UTC, on which something happened that a source told of an app, whenever it came: what is missing is a gap';

insert into ingest.heard_day
select distinct
    app_id,
    source,
    environment,
    (occurred_at at time zone 'UTC')::date
from ingest.event;

create table fact.clock_ahead (
    subscription_key bigint not null,
    source text not null,
    event_id text not null,
    primary key (subscription_key, source, event_id)
);
comment on table fact.clock_ahead is
'Events with a version that was signed more than a day after its receipt, and so is versioned at its receipt';

create table ledger.doubt (
    subscription_key bigint not null,
    transaction_id text not null,
    doubt text not null,
    primary key (subscription_key, transaction_id, doubt),
    constraint doubt_is_known check (doubt in ('named_elsewhere', 'sources_disagree'))
);
comment on table ledger.doubt is 'Transactions of which the facts contradict each other, as the last run that read them found';
comment on column ledger.doubt.doubt is
'named_elsewhere: another chain of the store has the transaction, and this one names it too; sources_disagree: sources say '
'different things of it';

create table reference.currency (
    currency text primary key
);
comment on table reference.currency is 'Currencies of ISO 4217, those withdrawn since 2000 included';

insert into reference.currency
select unnest(
    string_to_array(
        'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BYR BZD '
        'CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EEK EGP ERN ETB EUR FJD FKP GBP '
        'GEL GHC GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW '
        'KRW KWD KYD KZT LAK LBP LKR LRD LSL LTL LVL LYD MAD MDL MGA MKD MMK MNT MOP MRO MRU MUR MVR MWK MXN MXV MYR '
        'MZM MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR ROL RON RSD RUB RWF SAR SBD SCR SDD SDG '
        'SEK SGD SHP SIT SKK SLE SLL SOS SRD SRG SSP STD STN SVC SYP SZL THB TJS TMM TMT TND TOP TRL TRY TTD TWD TZS '
        'UAH UGX USD USN USS UYI UYU UYW UZS VEB VED VEF VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMK ZMW ZWD ZWG '
        'ZWL ZWR',
        ' '
    )
);

-- A kind that is not known, and what is amiss with a period, is rare and is found without reading all.
create index event_unrecognised on ingest.event (app_id, environment, store) where kind = 'unrecognised';
create index period_unpriced on ledger.period (subscription_key) where price is null and charge is not null;
create index period_unconfirmed on ledger.period (subscription_key) where closing = 'churned_unconfirmed';
create index period_begins_late on ledger.period (subscription_key) where opening = 'new' and charge = 'renewal';
create index period_without_time on ledger.period (subscription_key)
where is_empty and class <> 'one_time' and coalesce(expires_at <= purchased_at, true);

grant select, insert, update, delete on ingest.heard_day, fact.clock_ahead, ledger.doubt, reference.currency
to tenure_writer;
