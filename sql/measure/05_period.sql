-- Derives each period's course as of the run's moment: how it ended, how it began, what kind of charge it was, and what
-- is carried on to the next. All windows are one: a line's periods of one class in the order they were bought; a chain that
-- continues no other is a line by itself. Where a
-- step ends with "offset 0", what it found is computed once, not anew wherever a later step mentions it; the order named
-- with it is the one that the rows have already, and keeps them from being sorted again.
create temp table period on commit drop as
with worded as (
    select
        line.line_key,
        line.subscription_key,
        line.purchased_at,
        line.transaction_id,
        line.class,
        line.product_id,
        line.country,
        line.offer,
        line.currency,
        line.reason,
        line.expires_at,
        line.revoked_at,
        line.restored_at,
        line.is_free,
        line.is_base,
        line.is_beyond,
        line.base_is_trial,
        line.base_charge,
        line.base_opening,
        line.base_paid_number,
        line.base_first_paid_at,
        line.base_trial_started_at,
        line.base_stretch_started_at,
        line.base_months_before,
        line.base_rest_before,
        line.base_served,
        line.base_served_until,
        line.base_is_past_first_service,
        line.base_refunded_number,
        this_run.as_of,
        this_run.wait_for_word,
        word.auto_renew,
        word.expiration_reason,
        word.expired_said_at,
        -- A pause that is over before it begins is none.
        case when word.resumes_at <= word.paused_at then null else word.paused_at end as paused_at,
        word.resumes_at,
        word.switched_at,
        coalesce(word.is_failed, false) as is_failed,
        case when word.grace_expires_at > line.expires_at then word.grace_expires_at end as grace_expires_at,
        line.class = 'own' and not line.is_free and (
            line.revoked_at is null
            or not exists (
                select
                from unnest(line.revoked_at, line.restored_at, line.revocation)
                    as taken (revoked_at, restored_at, revocation)
                where
                    taken.revoked_at < this_run.as_of
                    and not coalesce(taken.restored_at < this_run.as_of, false)
                    and coalesce(taken.revocation, 'full') = 'full'
            )
        ) as counts,
        line.revoked_at is not null
        and exists (
            select
            from unnest(line.revoked_at, line.restored_at, line.revocation)
                as taken (revoked_at, restored_at, revocation)
            where
                taken.revoked_at < this_run.as_of
                and not coalesce(taken.restored_at < this_run.as_of, false)
                and coalesce(taken.revocation, 'full') in ('full', 'prorated')
        ) as is_refunded,
        -- A free period earns nothing; an offer paid up front is spread over the offer's length.
        case when line.is_free then 0 else line.price end as running_price,
        case
            when line.offer_discount = 'pay_up_front' then coalesce(line.offer_period, line.period)
            else line.period
        end as running_period,
        -- Where the length is not given, it is the nearest usual one to the days between.
        case
            when line.period is null
                then (extract(epoch from line.expires_at - line.purchased_at) / 86400)::numeric
        end as running_days
    from line
    cross join this_run
    left join word using (subscription_key, transaction_id)
    -- A period that is empty or runs backwards is none: it gives and ends no access.
    where
        line.class <> 'one_time'
        and line.expires_at > line.purchased_at
        and not coalesce(line.revoked_at[1] <= line.purchased_at, false)
),

followed as (
    select
        *,
        lead(purchased_at) over periods as next_at,
        lead(reason) over periods as next_reason
    from worded
    window periods as (partition by line_key, class order by purchased_at, transaction_id)
),

bounded as (
    select
        *,
        least(
            expires_at,
            next_at,
            case when paused_at between purchased_at and expires_at and paused_at < as_of then paused_at end
        ) as runs_until,
        -- When access is withdrawn: of refunds that were told again after they had been taken back, all of them together.
        case
            when revoked_at is not null
                then
                    (
                        select range_agg(tstzrange(episode.revoked_at, episode.restored_at))
                        from unnest(followed.revoked_at, followed.restored_at) as episode (revoked_at, restored_at)
                        where
                            episode.revoked_at < followed.as_of
                            and coalesce(episode.restored_at > episode.revoked_at, true)
                    )
        end as withdrawals
    from followed
    -- Nor does one that is replaced at the moment it was bought.
    where next_at is null or next_at > purchased_at
),

withdrawn as (
    select
        *,
        case
            when withdrawals is not null
                then
                    (
                        -- What was taken back before the period's end left access as it was.
                        select min(lower(span))
                        from unnest(bounded.withdrawals) as span
                        where
                            lower(span) < bounded.runs_until
                            and not coalesce(upper(span) < least(bounded.as_of, bounded.runs_until), false)
                    )
        end as withdrawn_at,
        -- When such a refund interrupted access, and when the last of them gave it back.
        case
            when withdrawals is not null
                then
                    (
                        select min(lower(span))
                        from unnest(bounded.withdrawals) as span
                        where upper(span) < least(bounded.as_of, bounded.runs_until)
                    )
        end as interrupted_at,
        case
            when withdrawals is not null
                then
                    (
                        select max(upper(span))
                        from unnest(bounded.withdrawals) as span
                        where upper(span) < least(bounded.as_of, bounded.runs_until)
                    )
        end as given_back_at
    from bounded
    order by line_key, class, purchased_at, transaction_id
    offset 0
),

fated as (
    select
        *,
        case
            when withdrawn_at is not null then 'withdrawn'
            when
                paused_at between purchased_at and expires_at and paused_at < as_of
                and (next_at is null or next_at > paused_at)
                then 'paused'
            when next_at <= expires_at then 'continued'
            when expires_at >= as_of then 'running'
            when is_failed and next_at <= grace_expires_at then 'continued'
            when is_failed and next_at is null and grace_expires_at >= as_of then 'in_grace'
            when is_failed then 'failed'
            when not auto_renew or expiration_reason is not null then 'ended'
            when
                next_at < expires_at + wait_for_word and coalesce(next_reason, 'renewal') <> 'purchase'
                then 'continued'
            -- A renewal after a gap without word shows that a charge had failed.
            when next_at is not null and next_reason = 'renewal' then 'failed'
            when next_at is not null then 'ended'
            when expires_at + wait_for_word >= as_of then 'awaited'
            else 'ended'
        end as fate
    from withdrawn
    order by line_key, class, purchased_at, transaction_id
    offset 0
),

lost as (
    select
        *,
        case fate
            when 'withdrawn' then withdrawn_at
            when 'paused' then paused_at
            when 'failed' then coalesce(grace_expires_at, expires_at)
            when 'ended' then expires_at
        end as lost_at,
        -- Retry lasts until the store says expired, at most 60 days.
        case when fate = 'failed' then least(expired_said_at, expires_at + interval '60 days') end as retry_closes_at
    from fated
    order by line_key, class, purchased_at, transaction_id
    offset 0
),

ended as (
    select
        *,
        coalesce(fate = 'continued' and is_failed and next_at >= expires_at, false) as is_recovered_in_grace,
        coalesce(fate = 'continued' and is_failed and next_at > expires_at, false)
        or coalesce(fate = 'failed' and grace_expires_at is not null, false) as ends_in_grace,
        -- Access is suspended while the charge is retried and when that succeeds in time.
        coalesce(
            fate = 'failed' and retry_closes_at > lost_at
            and case when next_at is null then retry_closes_at >= as_of else next_at < retry_closes_at end,
            false
        ) as is_suspended,
        case when fate = 'failed' and retry_closes_at > lost_at then least(retry_closes_at, next_at) end
            as retry_ends_at,
        case
            when fate = 'withdrawn' then 'refunded'
            when expiration_reason in ('voluntary', 'billing', 'price_increase', 'product_unavailable', 'refunded')
                then expiration_reason
            when expiration_reason is not null then 'other'
            when fate = 'failed' then 'billing'
            when not auto_renew then 'voluntary'
            else 'unconfirmed'
        end as churn_reason,
        least(
            case fate
                when 'running' then expires_at
                when 'in_grace' then grace_expires_at
                when 'awaited' then expires_at + wait_for_word
                when 'failed' then case when next_at is null and retry_closes_at >= as_of then retry_closes_at end
                when 'paused' then case when next_at is null and resumes_at >= as_of then resumes_at end
            end,
            case when next_at is null and paused_at >= as_of then paused_at end,
            case
                when revoked_at is not null
                    then (select min(moment) from unnest(revoked_at || restored_at) as moment where moment >= as_of)
            end
        ) as due_at,
        case when fate = 'continued' then next_at else lost_at end as closed_at,
        switched_at is not null
        and case
            when switched_at is not null
                then
                    (
                        select mod(count(*), 2) = 1
                        from unnest(lost.switched_at) as switched (at)
                        where
                            switched.at < coalesce(
                                case when lost.fate = 'continued' then lost.next_at else lost.lost_at end, 'infinity'
                            )
                    )
        end as ends_off
    from lost
    order by line_key, class, purchased_at, transaction_id
    offset 0
),

preceded as (
    select
        *,
        row_number() over periods as nth,
        lag(subscription_key) over periods as previous_subscription_key,
        lead(subscription_key) over periods as next_subscription_key,
        lag(fate) over periods as previous_fate,
        lag(is_suspended) over periods as previous_is_suspended,
        lag(is_recovered_in_grace) over periods as previous_is_recovered_in_grace,
        lag(ends_in_grace) over periods as previous_ends_in_grace,
        lag(ends_off) over periods as previous_ends_off,
        lag(purchased_at) over periods as previous_purchased_at,
        lag(product_id) over periods as previous_product_id,
        lag(country) over periods as previous_country,
        lag(offer) over periods as previous_offer,
        lag(running_price) over periods as previous_price,
        lag(currency) over periods as previous_currency,
        lag(running_period) over periods as previous_period,
        lag(running_days) over periods as previous_days,
        lag(least(expires_at, lost_at, next_at)) over periods as previous_paid_until,
        case when counts then least(expires_at, lost_at, next_at) end as paid_until,
        lag(counts) over periods as previous_counts,
        coalesce(lag(fate = 'continued') over periods, false) and not is_base as is_continuing
    from ended
    window periods as (partition by line_key, class order by purchased_at, transaction_id)
),

placed as (
    select
        *,
        is_continuing and previous_counts and not previous_ends_in_grace as is_unbroken
    from preceded
),

carried as (
    select
        *,
        -- A free period that follows another without a gap is of its kind: a trial, or the paid time before it.
        mod(
            max(
                case
                    when is_base then nth * 2 + base_is_trial::integer
                    when not is_free or not is_continuing then nth * 2 + is_free::integer
                end
            ) over periods,
            2
        ) = 1 as is_trial_time,
        sum(case when is_base then base_paid_number when class = 'own' and not is_free then 1 else 0 end)
            over periods as paid_number,
        -- Paid service: the end of all of it so far, and how long it was in all, counted on from what the base carries.
        max(greatest(paid_until, base_served_until)) over periods as served_until,
        sum(coalesce(base_served, '0') + coalesce(paid_until - purchased_at, '0')) over periods as served_in_all,
        min(case when is_base then base_first_paid_at when class = 'own' and not is_free then purchased_at end)
            over periods as first_paid_at,
        max(
            case
                when is_base then base_trial_started_at
                when class = 'own' and is_free and not is_continuing then purchased_at
            end
        ) over periods as trial_started_at,
        case
            when counts
                then
                    max(
                        case
                            when is_base then base_stretch_started_at
                            when counts and given_back_at is not null then given_back_at
                            when counts and not coalesce(is_unbroken, false) then purchased_at
                        end
                    ) over periods
        end as stretch_started_at
    from placed
    window periods as (
        partition by line_key, class order by purchased_at, transaction_id
        rows between unbounded preceding and current row
    )
),

opened as (
    select
        *,
        class = 'own' and is_trial_time as is_trial,
        coalesce(class = 'own' and lag(is_trial_time) over periods, false) as previous_is_trial,
        lag(stretch_started_at) over periods as previous_stretch_started_at,
        served_in_all - coalesce(paid_until - purchased_at, '0') as served_before,
        -- After a gap of more than 60 days paid service is counted anew.
        coalesce(purchased_at > lag(served_until) over periods + interval '60 days', false) as is_new_service,
        paid_number - (class = 'own' and not is_free)::integer > 0 as has_paid_before
    from carried
    window periods as (partition by line_key, class order by purchased_at, transaction_id)
),

begun as (
    select
        *,
        case
            when is_base then base_opening
            when class = 'family' then case when is_continuing then 'family_continued' else 'family_granted' end
            when is_trial then case when is_continuing then 'trial_continued' else 'trial_started' end
            when is_continuing and previous_is_trial then 'trial_converted'
            when is_continuing and (product_id is distinct from previous_product_id) then 'product_changed'
            when is_continuing then 'renewed'
            when previous_fate is null then 'new'
            -- A pause is no loss.
            when previous_is_trial and (previous_is_suspended or previous_fate = 'paused') then 'trial_converted'
            when not has_paid_before then 'new'
            when previous_fate = 'paused' then 'resumed'
            when previous_is_suspended then 'recovered'
            when offer = 'win_back' then 'won_back'
            else 'reactivated'
        end as opening,
        case
            when is_base then base_charge
            when class = 'family' or is_free then null
            when previous_is_trial and (is_continuing or previous_is_suspended or previous_fate = 'paused')
                then 'trial_conversion'
            when previous_fate is null and reason in ('renewal', 'later') then 'renewal'
            when not has_paid_before then 'initial'
            when not is_continuing and previous_fate <> 'paused'
                then
                    case
                        when previous_fate <> 'withdrawn' and (previous_is_suspended or reason = 'renewal')
                            then 'billing_recovery'
                        when offer = 'win_back' then 'win_back'
                        else 'reactivation'
                    end
            when (product_id is distinct from previous_product_id) then 'product_change'
            when previous_is_recovered_in_grace then 'billing_recovery'
            else 'renewal'
        end as charge,
        -- The first service ends where access is lost, other than to a pause or to a retry that succeeds.
        base_is_past_first_service
        or has_paid_before and (
            previous_fate in ('withdrawn', 'ended') or previous_fate = 'failed' and not previous_is_suspended
        ) as breaks_service,
        is_continuing and not previous_is_trial as follows_paid_time,
        class = 'own' and not is_trial as is_paid_time,
        coalesce(subscription_key <> previous_subscription_key, false) as is_handed_over,
        (
            product_id is distinct from previous_product_id
            or country is distinct from previous_country
            or offer is distinct from previous_offer
        ) as is_other_row,
        coalesce(previous_counts and not (counts and is_unbroken), false) as ends_stretch,
        -- The stretch that an interruption within the period ended began with the period or before it.
        case
            when counts and interrupted_at is not null
                then case when is_unbroken then previous_stretch_started_at else purchased_at end
        end as interrupted_stretch_started_at
    from opened
    order by line_key, class, purchased_at, transaction_id
    offset 0
),

moved as (
    select
        *,
        is_other_row or is_handed_over as is_elsewhere,
        is_paid_time and follows_paid_time and (is_other_row or is_handed_over) as is_moved,
        lead(opening) over periods as next_opening,
        -- What goes on in another row or another chain leaves this one.
        coalesce(
            lead(
                (is_paid_time and follows_paid_time or class = 'family' and is_continuing)
                and (is_other_row or is_handed_over)
            ) over periods, false
        ) as is_left,
        lead(is_other_row) over periods as is_left_for_other_row,
        not coalesce(bool_or(breaks_service) over periods, false) and paid_number > 0 as is_first_service,
        min(
            case
                when is_base
                    then least(base_refunded_number, case when is_refunded and not is_free then base_paid_number end)
                when is_refunded and class = 'own' and not is_free then paid_number
            end
        ) over periods as refunded_number,
        served_before - coalesce(max(case when is_new_service then served_before end) over periods, '0') as served,
        sum(
            case
                when is_base then base_months_before
                else
                    case
                        when ends_stretch then ledger.whole_months(previous_stretch_started_at, previous_paid_until)
                        else 0
                    end
                    + case
                        when interrupted_stretch_started_at is not null
                            then ledger.whole_months(interrupted_stretch_started_at, interrupted_at)
                        else 0
                    end
            end
        ) over periods as months_before,
        sum(
            case
                when is_base then base_rest_before
                else
                    case
                        when ends_stretch then ledger.rest_of_months(previous_stretch_started_at, previous_paid_until)
                        else interval '0'
                    end
                    + case
                        when interrupted_stretch_started_at is not null
                            then ledger.rest_of_months(interrupted_stretch_started_at, interrupted_at)
                        else interval '0'
                    end
            end
        ) over periods as rest_before
    from begun
    window periods as (
        partition by line_key, class order by purchased_at, transaction_id
        rows between unbounded preceding and current row
    )
)

select
    line_key,
    subscription_key,
    purchased_at,
    transaction_id,
    class,
    product_id,
    country,
    offer,
    currency,
    expires_at,
    revoked_at,
    restored_at,
    is_free,
    is_base,
    as_of,
    auto_renew,
    expiration_reason,
    expired_said_at,
    paused_at,
    resumes_at,
    switched_at,
    is_failed,
    grace_expires_at,
    running_price,
    running_period,
    running_days,
    next_at,
    runs_until,
    withdrawals,
    fate,
    lost_at,
    is_suspended,
    ends_in_grace,
    ends_off,
    retry_ends_at,
    due_at,
    closed_at,
    next_subscription_key,
    is_left,
    is_left_for_other_row,
    previous_ends_in_grace,
    previous_ends_off,
    previous_purchased_at,
    previous_product_id,
    previous_country,
    previous_offer,
    previous_price,
    previous_currency,
    previous_period,
    previous_days,
    is_continuing,
    is_trial_time,
    is_trial,
    is_paid_time,
    follows_paid_time,
    coalesce(previous_fate = 'paused', false) as follows_pause,
    is_elsewhere,
    is_moved,
    opening,
    charge,
    paid_number,
    first_paid_at,
    trial_started_at,
    stretch_started_at,
    months_before,
    rest_before,
    is_first_service,
    refunded_number,
    served,
    served_until,
    coalesce(paid_until - purchased_at, '0') as serves,
    case
        when fate = 'continued' then 'continued'
        when lost_at is null then null
        when class = 'family' then 'family_ended'
        when is_trial then 'trial_lost'
        when fate = 'paused' then 'paused'
        when is_suspended then 'suspended'
        else 'churned_' || churn_reason
    end as closing,
    -- What became of a trial is told by its last period.
    case
        when not is_trial or next_opening = 'trial_continued' then null
        when next_opening = 'trial_converted' then 'converted'
        when fate = 'in_grace' or retry_ends_at >= as_of then 'in_retry'
        when fate = 'paused' and next_at is null and coalesce(resumes_at >= as_of, true) then 'running'
        when lost_at is not null or fate = 'continued' then 'expired'
        when not auto_renew then 'cancelled'
        else 'running'
    end as trial_state,
    -- What became of the renewal that was due at the period's expiry.
    case
        when not is_paid_time or expires_at >= as_of or next_at < expires_at then null
        when is_recovered_in_grace then 'recovered_in_grace'
        when fate = 'continued' and next_opening = 'product_changed' then 'changed_product'
        when fate = 'continued' then 'renewed'
        when fate in ('in_grace', 'awaited') or is_suspended and next_at is null then 'open'
        when is_suspended then 'recovered_in_retry'
        when fate in ('failed', 'ended') then 'lost'
    end as renewal_state,
    -- What became of a charge that failed.
    case
        when class <> 'own' then null
        when is_recovered_in_grace then 'recovered_in_grace'
        when fate = 'in_grace' or is_suspended and next_at is null then 'open'
        when is_suspended then 'recovered_in_retry'
        when fate = 'failed' then 'lost'
    end as failure_state
from moved
where not is_beyond;

create index on period (subscription_key, transaction_id);
create index on period (line_key, purchased_at);
analyze period (subscription_key, transaction_id, class, is_paid_time, closing, opening);

-- Transactions that give no access are still charges, of the kind that the period before them makes them.
create temp table bare_charge on commit drop as
with bare as (
    select *
    from line
    where not line.is_beyond and not exists (
        select
        from period
        where period.subscription_key = line.subscription_key and period.transaction_id = line.transaction_id
    )
)

select
    bare.*,
    case
        when bare.class = 'one_time' then 'one_time'
        when bare.class = 'family' or bare.is_free then null
        when before.transaction_id is null
            then case when bare.reason in ('renewal', 'later') then 'renewal' else 'initial' end
        when bare.purchased_at <= coalesce(before.lost_at, 'infinity') and before.is_trial then 'trial_conversion'
        when before.paid_number = 0 then 'initial'
        when bare.purchased_at <= coalesce(before.lost_at, 'infinity') or before.fate = 'paused'
            then case when (bare.product_id is distinct from before.product_id) then 'product_change' else 'renewal' end
        when before.fate <> 'withdrawn' and (before.is_suspended or bare.reason = 'renewal') then 'billing_recovery'
        when bare.offer = 'win_back' then 'win_back'
        else 'reactivation'
    end as charge,
    coalesce(before.paid_number, 0) as paid_number,
    before.first_paid_at,
    before.product_id as previous_product_id,
    case
        when bare.purchased_at <= before.served_until + interval '60 days' then before.served + before.serves
        else interval '0'
    end as served
from bare
left join lateral (
    select *
    from period
    where
        period.line_key = bare.line_key
        and period.class = bare.class
        and (period.purchased_at, period.transaction_id) < (bare.purchased_at, bare.transaction_id)
    order by period.purchased_at desc, period.transaction_id desc
    limit 1
) as before on bare.class = 'own';

analyze bare_charge;
