-- What in the data makes figures incomplete or doubtful, how much of it, and what can be done? Only what was found is listed:
-- no rows is the good answer. As of the last run, but for events, which count when they are stored.
create view report.data_quality as
with book as (
    select
        latest.as_of,
        (latest.as_of at time zone 'UTC')::date as today,
        latest.currency,
        make_interval(secs => (book.settings ->> 'wait_for_word')::bigint) as wait_for_word
    from measure.latest as latest
    inner join measure.run using (run_id)
    inner join measure.book using (book_id)
),

charged as (
    select
        app_id,
        environment,
        store,
        currency,
        sum(charges - unpriced_charges) as charges,
        sum(unconverted) as unconverted
    from measure.daily_revenue
    where currency <> ''
    group by app_id, environment, store, currency
),

-- Charges that the last run had no rate for, and of the currency that has most of them whether it lacks one itself: a charge is
-- converted through the euro, by the rates of its currency and of the reporting currency.
unconverted as (
    select
        most.app_id,
        most.environment,
        most.store,
        most.charges,
        case
            when most.currency <> 'EUR' and exists (
                select
                from measure.daily_revenue as total
                where
                    total.app_id = most.app_id
                    and total.environment = most.environment
                    and total.store = most.store
                    and total.currency = most.currency
                    and total.unconverted > 0
                    and not coalesce(
                        (
                            select rate.per_euro is not null
                            from reference.rate as rate
                            where rate.currency = total.currency and rate.day <= total.day
                            order by rate.day desc
                            limit 1
                        ),
                        false
                    )
            ) then most.currency
            else book.currency
        end as missing
    from (
        select
            app_id,
            environment,
            store,
            sum(unconverted) as charges,
            (array_agg(currency order by unconverted desc, currency))[1] as currency
        from charged
        where unconverted > 0
        group by app_id, environment, store
    ) as most
    cross join book
),

-- A source that was heard on nearly every day of four weeks, and then on none for two whole days or more. As far back as stores
-- keep the history of their notifications.
stream_gap as (
    select *
    from (
        select
            heard.app_id,
            heard.environment,
            heard.source,
            heard.day + 1 as from_day,
            heard.day >= book.today - 180 as is_recent,
            lead(heard.day, 1, book.today) over days - heard.day - 1 as silent_days,
            count(*) over (days range between interval '27 days' preceding and current row) as heard_days
        from ingest.heard_day as heard
        cross join book
        where heard.day < book.today and heard.day > book.today - 210
        window days as (partition by heard.app_id, heard.environment, heard.source order by heard.day)
    ) as following
    where is_recent and silent_days >= 2 and heard_days >= 26
),

-- Rows of a table of periods that are rare, each by an index of its own.
period_at_fault as (
    select
        subscription_key,
        transaction_id,
        'history_begins_late' as fault
    from ledger.period
    where opening = 'new' and charge = 'renewal'
    union all
    select
        subscription_key,
        transaction_id,
        'empty_periods'
    from ledger.period
    where is_empty and class <> 'one_time' and coalesce(expires_at <= purchased_at, true)
    union all
    -- Ended without word, less than the wait ago. Moments are given as single values, so that they bound the index.
    select
        subscription_key,
        transaction_id,
        'awaiting_word'
    from ledger.period
    where
        due_at between (select book.as_of from book) and (select book.as_of + book.wait_for_word from book)
        and closing is null
        and not is_empty
        and expires_at < (select book.as_of from book)
        and not (is_failed and coalesce(grace_expires_at >= (select book.as_of from book), false))
    union all
    select
        subscription_key,
        transaction_id,
        case doubt when 'named_elsewhere' then 'transactions_in_two_chains' else doubt end
    from ledger.doubt
    union all
    select
        subscription_key,
        event_id,
        'clock_ahead'
    from fact.clock_ahead
),

found as (
    select
        total.app_id,
        total.environment,
        total.store,
        'unpriced_charges' as "check",
        sum(total.unpriced_charges) as count,
        (
            select period.transaction_id
            from ledger.period as period
            inner join fact.chain as chain using (subscription_key)
            where
                period.price is null and period.charge is not null
                and chain.app_id = total.app_id
                and chain.environment = total.environment
                and chain.store = total.store
            order by period.subscription_key, period.transaction_id
            limit 1
        ) as example
    from measure.daily_revenue as total
    group by total.app_id, total.environment, total.store
    having sum(total.unpriced_charges) > 0
    union all
    select
        app_id,
        environment,
        store,
        'missing_rates',
        charges,
        missing
    from unconverted
    union all
    select
        app_id,
        environment,
        store,
        'unknown_currencies',
        sum(charges),
        (array_agg(currency order by charges desc, currency))[1]
    from charged
    where charges > 0 and currency not in (select known.currency from reference.currency as known)
    group by app_id, environment, store
    union all
    select
        total.app_id,
        total.environment,
        total.store,
        'unconfirmed_lapses',
        sum(total.churned_unconfirmed),
        (
            select period.transaction_id
            from ledger.period as period
            inner join fact.chain as chain using (subscription_key)
            where
                period.closing = 'churned_unconfirmed'
                and chain.app_id = total.app_id
                and chain.environment = total.environment
                and chain.store = total.store
            order by period.subscription_key, period.transaction_id
            limit 1
        )
    from measure.daily_movement as total
    group by total.app_id, total.environment, total.store
    having sum(total.churned_unconfirmed) > 0
    union all
    select
        chain.app_id,
        chain.environment,
        chain.store,
        at_fault.fault,
        count(*),
        min(at_fault.transaction_id)
    from period_at_fault as at_fault
    inner join fact.chain as chain using (subscription_key)
    group by chain.app_id, chain.environment, chain.store, at_fault.fault
    union all
    select
        app_id,
        environment,
        store,
        'unrecognised_kinds',
        count(*),
        mode() within group (order by raw_kind)
    from ingest.event
    where kind = 'unrecognised'
    group by app_id, environment, store
    union all
    select
        seen.app_id,
        seen.environment,
        seen.store,
        'missing_products',
        count(*),
        min(seen.product_id)
    from ledger.product as seen
    left join reference.product as listed using (app_id, product_id)
    where listed.product_id is null
    group by seen.app_id, seen.environment, seen.store
    union all
    select
        app_id,
        environment,
        null,
        'stream_gaps',
        count(*),
        (array_agg(source || ' ' || from_day order by from_day desc, source))[1]
    from stream_gap
    group by app_id, environment
)

select
    app.app_key as app,
    found.environment,
    found.store,
    found."check",
    found.count::bigint as count,
    found.example,
    case found."check"
        when 'unpriced_charges'
            then 'Send the price by another source that knows it: these are among the charges, and in no amount.'
        when 'missing_rates'
            then
                'Import the rates with `tenure rates import`: these charges are not in converted amounts. The '
                'example is the currency without a rate.'
        when 'unknown_currencies'
            then 'Correct the code at the source: ISO 4217 does not know it.'
        when 'unconfirmed_lapses'
            then 'Fetch the histories of these chains: they ended and no source said why.'
        when 'awaiting_word'
            then
                'Nothing yet: these ended less than the wait for word ago and count as active until a source '
                'tells, or the wait is over.'
        when 'history_begins_late'
            then
                'Fetch the whole transaction history: what is known of these chains begins with a renewal, '
                'counted as new.'
        when 'empty_periods'
            then
                'Look the transaction up at its source: it has no end, or one not after its beginning, and so '
                'gives no access.'
        when 'transactions_in_two_chains'
            then
                'Correct the source that names the wrong chain: the transaction is counted in the chain of the '
                'best source.'
        when 'sources_disagree'
            then 'Compare what the sources say of the transaction: the best source''s word counts.'
        when 'clock_ahead'
            then
                'Set the clock of the source: what it signed lies more than a day after its receipt and counts '
                'as of the receipt.'
        when 'unrecognised_kinds'
            then 'Nothing is lost, their facts are used; a newer version of the program may know the kind.'
        when 'missing_products'
            then
                'Import the catalogue with `tenure catalogue import`: levels, names and lengths of these '
                'products are unknown.'
        when 'stream_gaps'
            then 'Check the receiver of the source, and fetch or send again what happened from the example''s day on.'
    end as what_to_do
from found
inner join ingest.app as app using (app_id);

comment on view report.data_quality is
'Data quality, one row per app, environment, store and check that found something; no rows where nothing is amiss';
comment on column report.data_quality.app is 'Dimension: the app''s key';
comment on column report.data_quality.environment is 'Dimension: the store''s environment';
comment on column report.data_quality.store is 'Dimension: the store; null of stream_gaps: a source may tell of several';
comment on column report.data_quality."check" is
'Dimension: unpriced_charges, missing_rates, unknown_currencies, unconfirmed_lapses, awaiting_word, history_begins_late, empty_periods, transactions_in_two_chains, sources_disagree, clock_ahead, unrecognised_kinds, missing_products or stream_gaps';
comment on column report.data_quality.count is
'Detail: how many charges, lapses, chains, transactions, events, products or gaps it found';
comment on column report.data_quality.example is
'Detail: one of them to look up: a transaction''s id, a currency, the event''s id of clock_ahead, the vendor''s word for a kind, a product''s id, or the source and first silent day of a gap';
comment on column report.data_quality.what_to_do is 'Detail: what it means and what can be done';

grant select on report.data_quality to tenure_reader, tenure_support, tenure_writer;
