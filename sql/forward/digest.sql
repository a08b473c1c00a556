-- Makes the digests that have come due, and their deliveries: for each target that asks for them, of each reporting day that
-- ended since the target was added and of which the moment its setting names is not longer past than its max_age. Run in a
-- run's transaction, once its figures stand. What a digest says is what docs/events.md names.
with wanting as materialized (
    select
        target.name as target,
        target.apps,
        -- Environments never mix.
        case when 'Production' = any(target.environments) then 'Production' else target.environments[1] end
            as environment,
        target.digest_at,
        target.digest_zone,
        run.started_at as made_at,
        latest.day as today,
        latest.as_of,
        latest.zone,
        latest.currency,
        greatest(target.starts_at, run.started_at - target.max_age) as since
    from forward.target as target
    cross join measure.latest as latest
    inner join measure.run as run using (run_id)
    where target.is_configured and target.digest_at is not null
),

due as materialized (
    select
        wanting.*,
        days.day::date as day,
        moment.at as occurred_at,
        'digest-' || md5(concat_ws(e'\x1f', wanting.target, days.day::date)) as event_id
    from wanting
    cross join lateral generate_series(
        ((wanting.since at time zone wanting.zone)::date - 2)::timestamp, wanting.today::timestamp, interval '1 day'
    ) as days (day)
    cross join lateral (
        select (days.day + interval '1 day') at time zone wanting.zone as ends_at
    ) as over
    cross join lateral (
        select (over.ends_at at time zone wanting.digest_zone)::date + wanting.digest_at as clock
    ) as first
    -- The first time that the clock there shows the hour after the day is over.
    cross join lateral (
        select
            case
                when first.clock at time zone wanting.digest_zone >= over.ends_at
                    then first.clock at time zone wanting.digest_zone
                else (first.clock + interval '1 day') at time zone wanting.digest_zone
            end as at
    ) as moment
    where
        moment.at <= wanting.as_of
        and moment.at >= wanting.since
        and not exists (
            select from forward.digest as made
            where made.target = wanting.target and made.day = days.day::date
        )
),

moved as materialized (
    select
        due.event_id,
        movements.app,
        movements.product_id,
        sum(movements.new) as new,
        sum(movements.trial_converted) as trial_converted,
        sum(movements.reactivated) as reactivated,
        sum(movements.recovered) as recovered,
        sum(
            movements.churned_voluntary + movements.churned_billing + movements.churned_price_increase
            + movements.churned_product_unavailable + movements.churned_refunded + movements.churned_other
            + movements.churned_unconfirmed
        ) as churned,
        sum(movements.suspended) as suspended,
        sum(movements.opening) as opening,
        sum(movements.closing) as closing
    from due
    inner join report.movements as movements
        on
            due.day = movements.day
            and due.environment = movements.environment
            and (due.apps is null or movements.app = any(due.apps))
    group by due.event_id, movements.app, movements.product_id
),

tried as (
    select
        due.event_id,
        sum(trials.started) as started
    from due
    inner join report.trials as trials
        on
            due.day = trials.day
            and due.environment = trials.environment
            and (due.apps is null or trials.app = any(due.apps))
    group by due.event_id
),

renewed as materialized (
    select
        due.event_id,
        revenue.currency,
        sum(revenue.charges) as charges,
        sum(revenue.unpriced_charges) as unpriced_charges,
        trim_scale(sum(revenue.net)) as net,
        sum(revenue.net_converted) as converted,
        sum(revenue.unconverted_charges) as unconverted_charges
    from due
    inner join report.renewal_revenue as revenue
        on
            due.day = revenue.day
            and due.environment = revenue.environment
            and (due.apps is null or revenue.app = any(due.apps))
    group by due.event_id, revenue.currency
),

recurring as materialized (
    select
        due.event_id,
        mrr.app,
        mrr.product_id,
        mrr.currency,
        mrr.day = due.day as is_end,
        sum(mrr.mrr) as mrr,
        case when bool_and(mrr.mrr_converted is not null) then sum(mrr.mrr_converted) end as converted,
        sum(mrr.unpriced_subscriptions) as unpriced
    from due
    inner join report.mrr as mrr
        on
            mrr.day in (due.day - 1, due.day)
            and due.environment = mrr.environment
            and (due.apps is null or mrr.app = any(due.apps))
    group by due.event_id, mrr.app, mrr.product_id, mrr.currency, mrr.day = due.day
),

levelled as (
    select
        event_id,
        currency,
        coalesce(sum(mrr) filter (where is_end), 0) as amount,
        coalesce(sum(mrr) filter (where is_end), 0) - coalesce(sum(mrr) filter (where not is_end), 0) as change
    from recurring
    where currency is not null
    group by event_id, currency
),

converted as (
    select
        event_id,
        case when bool_and(converted is not null) filter (where is_end) then sum(converted) filter (where is_end) end
            as amount,
        case
            when bool_and(converted is not null)
                then
                    coalesce(sum(converted) filter (where is_end), 0)
                    - coalesce(sum(converted) filter (where not is_end), 0)
        end as change
    from recurring
    where currency is not null
    group by event_id
),

mover as (
    select
        due.event_id,
        app,
        product_id,
        coalesce(moved.closing - moved.opening, 0) as active_change,
        -- Without a row there is no MRR.
        case when coalesce(worth.is_known, true) then coalesce(worth.change, 0) end as mrr_change
    from due
    inner join moved using (event_id)
    full join (
        select
            event_id,
            app,
            product_id,
            bool_and(converted is not null) as is_known,
            coalesce(sum(converted) filter (where is_end), 0)
            - coalesce(sum(converted) filter (where not is_end), 0) as change
        from recurring
        where currency is not null
        group by event_id, app, product_id
    ) as worth using (event_id, app, product_id)
),

ranked as (
    select
        mover.*,
        row_number() over (
            partition by mover.event_id
            order by abs(coalesce(mover.mrr_change, 0)) desc, abs(mover.active_change) desc, mover.app, mover.product_id
        ) as nth
    from mover
    where mover.active_change <> 0 or coalesce(mover.mrr_change, 0) <> 0
),

told as (
    select
        due.*,
        case when cardinality(due.apps) = 1 then due.apps[1] end as app,
        json_build_object(
            'day', due.day,
            'timezone', due.zone,
            'apps', coalesce(figures.apps, '[]'),
            'new', coalesce(figures.new, 0),
            'trial_converted', coalesce(figures.trial_converted, 0),
            'reactivated', coalesce(figures.reactivated, 0),
            'recovered', coalesce(figures.recovered, 0),
            'churned', coalesce(figures.churned, 0),
            'suspended', coalesce(figures.suspended, 0),
            'trials_started', coalesce(tried.started, 0),
            'active_subscriptions', coalesce(figures.closing, 0),
            'active_subscriptions_change', coalesce(figures.closing - figures.opening, 0),
            'renewal_revenue', json_build_object(
                'charges', coalesce(money.charges, 0),
                'unpriced_charges', coalesce(money.unpriced_charges, 0),
                'net', coalesce(money.net, '[]'),
                -- Nothing renewed is nothing in every currency.
                'converted', case when money.charges is null then 0 else trim_scale(money.converted) end,
                'converted_to', due.currency,
                'unconverted_charges', coalesce(money.unconverted_charges, 0)
            ),
            'mrr', json_build_object(
                'by_currency', coalesce(levels.by_currency, '[]'),
                'converted', case when levels.by_currency is null then 0 else trim_scale(converted.amount) end,
                'change', case when levels.by_currency is null then 0 else trim_scale(converted.change) end,
                'converted_to', due.currency,
                'unpriced_subscriptions', coalesce(unpriced.subscriptions, 0)
            ),
            'movers', coalesce(movers.list, '[]')
        ) as digest
    from due
    left join lateral (
        select
            json_agg(distinct moved.app order by moved.app) as apps,
            sum(moved.new) as new,
            sum(moved.trial_converted) as trial_converted,
            sum(moved.reactivated) as reactivated,
            sum(moved.recovered) as recovered,
            sum(moved.churned) as churned,
            sum(moved.suspended) as suspended,
            sum(moved.opening) as opening,
            sum(moved.closing) as closing
        from moved
        where moved.event_id = due.event_id
    ) as figures on true
    left join tried on due.event_id = tried.event_id
    left join lateral (
        select
            sum(renewed.charges) as charges,
            sum(renewed.unpriced_charges) as unpriced_charges,
            sum(renewed.converted) as converted,
            sum(renewed.unconverted_charges) as unconverted_charges,
            json_agg(
                json_build_object('currency', renewed.currency, 'amount', renewed.net)
                order by renewed.charges desc, renewed.currency
            )
            filter (where renewed.currency is not null and renewed.net is not null) as net
        from renewed
        where renewed.event_id = due.event_id
    ) as money on true
    left join converted on due.event_id = converted.event_id
    left join lateral (
        select
            json_agg(
                json_build_object(
                    'currency', levelled.currency,
                    'amount', trim_scale(levelled.amount),
                    'change', trim_scale(levelled.change)
                )
                order by levelled.currency
            ) as by_currency
        from levelled
        where levelled.event_id = due.event_id and (levelled.amount <> 0 or levelled.change <> 0)
    ) as levels on true
    left join lateral (
        select sum(recurring.unpriced) as subscriptions
        from recurring
        where recurring.event_id = due.event_id and recurring.is_end
    ) as unpriced on true
    left join lateral (
        select
            json_agg(
                json_build_object(
                    'app', ranked.app,
                    'product_id', ranked.product_id,
                    'name', product.name,
                    'active_subscriptions_change', ranked.active_change,
                    'mrr_change', trim_scale(ranked.mrr_change)
                )
                order by ranked.nth
            ) as list
        from ranked
        inner join ingest.app as app on ranked.app = app.app_key
        left join reference.product as product
            on app.app_id = product.app_id and ranked.product_id = product.product_id
        where ranked.event_id = due.event_id and ranked.nth <= 5
    ) as movers on true
),

made as (
    insert into forward.digest (target, day, event_id, occurred_at, made_at, body)
    select
        target,
        day,
        event_id,
        occurred_at,
        made_at,
        json_build_object(
            'app', app,
            'detail', json_build_object('digest', digest),
            'environment', environment,
            'event_id', event_id,
            'kind', 'daily_digest',
            'occurred_at', to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'store', 'other'
        )
    from told
    on conflict do nothing
    returning target, day, event_id, made_at
)

insert into forward.delivery (target, source, event_id, subscription_key, announces, due_at, created_at)
select
    target,
    'measure',
    event_id,
    0,
    'daily_digest:' || day,
    made_at,
    made_at
from made
on conflict (target, announces) do nothing;
