-- Runs and the daily totals they keep. All of it is local to one node.
create schema measure;
comment on schema measure is 'Runs, books and daily totals';

create table measure.book (
    book_id bigint generated always as identity primary key,
    settings jsonb not null,
    opened_at timestamptz not null
);
comment on table measure.book is 'Books: the settings under which totals are made. The newest is in force';

create table measure.run (
    run_id bigint generated always as identity primary key,
    command text not null,
    book_id bigint,
    started_at timestamptz not null,
    finished_at timestamptz,
    as_of timestamptz not null,
    facts bigint,
    settled bigint,
    transactions_read bigint,
    entries bigint,
    outcome text not null,
    error text
);
comment on table measure.run is 'Executions of measure, numbered; they finish one after another';

create table measure.daily_movement (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    offer text not null,
    day date not null,
    new bigint not null,
    trial_converted bigint not null,
    reactivated bigint not null,
    won_back bigint not null,
    recovered bigint not null,
    refund_reversed bigint not null,
    resumed bigint not null,
    moved_in bigint not null,
    churned_voluntary bigint not null,
    churned_billing bigint not null,
    churned_price_increase bigint not null,
    churned_product_unavailable bigint not null,
    churned_refunded bigint not null,
    churned_other bigint not null,
    churned_unconfirmed bigint not null,
    suspended bigint not null,
    pauses bigint not null,
    moved_out bigint not null,
    renewed bigint not null,
    upgraded bigint not null,
    downgraded bigint not null,
    crossgraded bigint not null,
    active bigint not null,
    trial bigint not null,
    grace bigint not null,
    retry bigint not null,
    set_to_cancel bigint not null,
    paused bigint not null,
    family bigint not null,
    primary key (app_id, environment, store, product_id, country, offer, day)
);
comment on table measure.daily_movement is
'Movements and changes of stocks, one row per reporting day, product, country and offer. Unknown product and country '
'are empty texts';

create table measure.daily_movement_change (run_id bigint not null, like measure.daily_movement);
alter table measure.daily_movement_change
add primary key (run_id, app_id, environment, store, product_id, country, offer, day);
comment on table measure.daily_movement_change is 'What each run changed in measure.daily_movement';

create table measure.monthly_closing (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    offer text not null,
    month date not null,
    active bigint not null,
    trial bigint not null,
    grace bigint not null,
    retry bigint not null,
    set_to_cancel bigint not null,
    paused bigint not null,
    family bigint not null,
    primary key (app_id, environment, store, product_id, country, offer, month)
);
comment on table measure.monthly_closing is
'Stocks at the ends of months in which they changed, so that a day''s stock is one closing and the days since';

create table measure.daily_revenue (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    offer text not null,
    currency text not null,
    kind text not null,
    day date not null,
    charges bigint not null,
    unpriced_charges bigint not null,
    gross numeric not null,
    refunded_charges bigint not null,
    unknown_refunds bigint not null,
    refunds numeric not null,
    refunded_charges_by_purchase_day bigint not null,
    unknown_refunds_by_purchase_day bigint not null,
    refunds_by_purchase_day numeric not null,
    tax numeric not null,
    untaxed bigint not null,
    commission numeric not null,
    uncommissioned bigint not null,
    proceeds numeric not null,
    unproceeded bigint not null,
    primary key (app_id, environment, store, product_id, country, offer, currency, kind, day)
);
comment on table measure.daily_revenue is
'Money in micros, one row per reporting day, product, country, offer, currency and kind of charge';
comment on column measure.daily_revenue.untaxed is 'Charges and refunds whose tax is not reported; likewise the next two';

create table measure.daily_revenue_change (run_id bigint not null, like measure.daily_revenue);
alter table measure.daily_revenue_change
add primary key (run_id, app_id, environment, store, product_id, country, offer, currency, kind, day);
comment on table measure.daily_revenue_change is 'What each run changed in measure.daily_revenue';

create table measure.daily_subscriber (
    app_id bigint not null,
    environment text not null,
    day date not null,
    active bigint not null,
    primary key (app_id, environment, day)
);
comment on table measure.daily_subscriber is 'Change of the number of active subscribers, one row per reporting day';

create table measure.daily_subscriber_change (run_id bigint not null, like measure.daily_subscriber);
alter table measure.daily_subscriber_change add primary key (run_id, app_id, environment, day);
comment on table measure.daily_subscriber_change is 'What each run changed in measure.daily_subscriber';

create table measure.period_churn (
    app_id bigint not null,
    environment text not null,
    store text not null,
    period text not null,
    starts_on date not null,
    churned bigint not null,
    churned_same_period bigint not null,
    primary key (app_id, environment, store, period, starts_on)
);
comment on table measure.period_churn is
'Chains whose last movement in a day, week, month, quarter or year was a churn, by whether they were active at its start';

create table measure.period_churn_change (run_id bigint not null, like measure.period_churn);
alter table measure.period_churn_change add primary key (run_id, app_id, environment, store, period, starts_on);
comment on table measure.period_churn_change is 'What each run changed in measure.period_churn';

create table measure.daily_mrr (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    currency text not null,
    day date not null,
    new numeric not null,
    reactivation numeric not null,
    expansion numeric not null,
    contraction numeric not null,
    churn numeric not null,
    suspension numeric not null,
    recovery numeric not null,
    moved_in numeric not null,
    moved_out numeric not null,
    unpriced bigint not null,
    primary key (app_id, environment, store, product_id, country, currency, day)
);
comment on table measure.daily_mrr is
'Changes of MRR in micros, signed, one row per reporting day, product, country and currency';
comment on column measure.daily_mrr.unpriced is
'Change of the number of active chains of unknown price, which belong to no currency';

create table measure.daily_mrr_change (run_id bigint not null, like measure.daily_mrr);
alter table measure.daily_mrr_change
add primary key (run_id, app_id, environment, store, product_id, country, currency, day);
comment on table measure.daily_mrr_change is 'What each run changed in measure.daily_mrr';

create table measure.monthly_mrr (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    currency text not null,
    month date not null,
    mrr numeric not null,
    unpriced bigint not null,
    primary key (app_id, environment, store, product_id, country, currency, month)
);
comment on table measure.monthly_mrr is 'MRR in micros at the ends of months in which it changed';

create table measure.daily_trial (
    app_id bigint not null,
    environment text not null,
    store text not null,
    product_id text not null,
    country text not null,
    day date not null,
    started bigint not null,
    converted bigint not null,
    expired bigint not null,
    cancelled bigint not null,
    running bigint not null,
    in_retry bigint not null,
    primary key (app_id, environment, store, product_id, country, day)
);
comment on table measure.daily_trial is
'What became of the trials that began on a reporting day, one row per day, product and country of the beginning';

create table measure.daily_trial_change (run_id bigint not null, like measure.daily_trial);
alter table measure.daily_trial_change
add primary key (run_id, app_id, environment, store, product_id, country, day);
comment on table measure.daily_trial_change is 'What each run changed in measure.daily_trial';
