-- How long each line's first unbroken time of paid access lasted, for cohorts.
alter table ledger.period
add column is_first_service boolean not null default false,
add column refunded_number integer;
comment on column ledger.period.is_first_service is
'Whether access was never lost since the first paid period, other than to a pause or to a recovered retry';
comment on column ledger.period.refunded_number is
'The number of the first paid period so far that was refunded, in whole or in part; null when none was';

create table ledger.course (
    line_key bigint primary key,
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    paid_at timestamptz not null,
    paid_number integer not null,
    refunded_number integer,
    next_due_at timestamptz not null,
    expires_at timestamptz not null,
    last_product_id text not null,
    period text,
    days numeric not null,
    state text not null,
    constraint state_is_known check (state in ('running', 'open', 'lost'))
);
comment on table ledger.course is
'Lines by their first service: from the first paid period until access was lost. A cache: it can be derived again';
comment on column ledger.course.product_id is 'The product of the first paid period; an unknown one is an empty text';
comment on column ledger.course.paid_number is 'How many paid periods it has had';
comment on column ledger.course.next_due_at is 'When the charge after the last of them is or was due';
comment on column ledger.course.expires_at is
'The last expiry, from which further charges would have been due, one length after the other, once access is lost';
comment on column ledger.course.last_product_id is 'The product of the last paid period';
comment on column ledger.course.period is 'The length of the last paid period; null where its transaction does not tell';
comment on column ledger.course.days is 'From the beginning of the last paid period to its expiry';
comment on column ledger.course.state is
'lost, open (in grace, in retry or waited for), or running: neither, also while it is paused';

grant select, insert, update, delete on ledger.course to tenure_writer;
