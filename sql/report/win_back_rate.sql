-- Of the chains that became eligible for a win-back offer in a month, how many came back within 30 days, and how many of those with
-- the offer? As the facts have it now.
create view report.win_back_rate as
with became as (
    select
        chain.app_id,
        chain.environment,
        chain.store,
        winback.subscription_key,
        winback.offer_id,
        winback.is_back_with_offer,
        latest.as_of,
        latest.zone,
        (winback.eligible_at at time zone latest.zone)::date as eligible_on,
        (winback.back_at at time zone latest.zone)::date as back_on
    from ledger.winback as winback
    inner join fact.chain as chain using (subscription_key)
    cross join measure.latest as latest
    where winback.due_at < latest.as_of
),

judged as (
    select
        *,
        date_trunc('month', eligible_on::timestamp)::date as month,
        coalesce(back_on <= eligible_on + 30, false) as is_back
    from became
)

select
    app.app_key as app,
    judged.environment,
    judged.store,
    judged.month,
    judged.offer_id,
    count(distinct judged.subscription_key) as became_eligible,
    count(distinct judged.subscription_key) filter (where judged.is_back) as came_back,
    count(distinct judged.subscription_key) filter (where judged.is_back and judged.is_back_with_offer)
        as came_back_with_offer,
    trim_scale(
        round(
            count(distinct judged.subscription_key) filter (where judged.is_back)::numeric
            / count(distinct judged.subscription_key),
            6
        )
    ) as rate,
    (judged.month + interval '1 month 30 days') at time zone judged.zone <= judged.as_of as is_complete
from judged
inner join ingest.app as app using (app_id)
group by
    app.app_key, judged.environment, judged.store, judged.month, judged.offer_id, judged.zone, judged.as_of;

comment on view report.win_back_rate is
'Who came back of those who became eligible for a win-back offer, one row per month and offer';
comment on column report.win_back_rate.app is 'Dimension: the app''s key';
comment on column report.win_back_rate.environment is 'Dimension: the store''s environment';
comment on column report.win_back_rate.store is 'Dimension: the store';
comment on column report.win_back_rate.month is
'Dimension: the first day of the reporting month in which they became eligible';
comment on column report.win_back_rate.offer_id is 'Dimension: the win-back offer';
comment on column report.win_back_rate.became_eligible is 'Flow: chains that became eligible for the offer in the month';
comment on column report.win_back_rate.came_back is
'Flow: those that had access again on that day or in the 30 days after it, a free win-back trial included';
comment on column report.win_back_rate.came_back_with_offer is 'Flow: those of them that came back with this offer';
comment on column report.win_back_rate.rate is 'Ratio: came_back / became_eligible';
comment on column report.win_back_rate.is_complete is 'Every: the month and the 30 days after it are over';

grant select on report.win_back_rate to tenure_reader, tenure_support, tenure_writer;
