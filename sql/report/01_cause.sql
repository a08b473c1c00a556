-- Which event made an entry? That of the status or of the revocation that said what happened, else the one that told of the
-- transaction.
drop function if exists ledger.cause;
create function ledger.cause(entry_of bigint, transaction_of text, kind_of text, happened_at timestamptz)
returns table (event_id text, source text)
language sql stable
begin atomic
    with about as (
        -- Statuses since the period was bought and before the next was, as of the last run.
        select
            renewal.*,
            min(renewal.signed_at) filter (
                where renewal.grace_expires_at is not null or renewal.in_billing_retry
            ) over () as failed_at,
            max(renewal.signed_at) filter (
                where
                renewal.expiration_reason is not null
                or renewal.in_billing_retry
                or renewal.grace_expires_at is not null
                or not renewal.auto_renew
            ) over () as ended_at,
            max(renewal.signed_at) filter (where renewal.paused_at is not null) over () as paused_said_at
        from ledger.period as period
        inner join fact.renewal as renewal using (subscription_key)
        where
            period.subscription_key = entry_of
            and period.transaction_id = transaction_of
            and renewal.signed_at >= period.purchased_at
            and renewal.signed_at < (select latest.as_of from measure.latest as latest)
            and renewal.signed_at < coalesce(
                (
                    select min(next_period.purchased_at)
                    from ledger.period as next_period
                    where next_period.subscription_key = entry_of and next_period.purchased_at > period.purchased_at
                ),
                'infinity'
            )
    ),

    said as (
        select
            1 as nth,
            about.event_id,
            about.source,
            about.signed_at,
            about.source_rank,
            about.digest
        from about
        where
            about.signed_at = case
                when kind_of in ('auto_renew_disabled', 'auto_renew_enabled') then happened_at
                when kind_of in ('grace_entered', 'suspended') then about.failed_at
                when kind_of in ('paused', 'pause_ended') then about.paused_said_at
                -- Without word there is nothing that said so.
                when kind_of = 'churned_unconfirmed' then null
                when starts_with(kind_of, 'churned_') or kind_of in ('retry_ended', 'trial_ended', 'family_ended')
                    then about.ended_at
            end
        union all
        -- A revocation is the first version that named its moment, and its end the version without one.
        select
            0,
            version.event_id,
            version.source,
            version.signed_at,
            version.source_rank,
            version.digest
        from fact.transaction as version
        where
            version.subscription_key = entry_of and version.transaction_id = transaction_of
            and case
                when kind_of = 'refund_reversed' then version.signed_at = happened_at
                else version.revoked_at = happened_at
            end
        union all
        select
            2,
            version.event_id,
            version.source,
            version.signed_at,
            version.source_rank,
            version.digest
        from fact.transaction as version
        where version.subscription_key = entry_of and version.transaction_id = transaction_of
    )

    select
        said.event_id,
        said.source
    from said
    order by said.nth, said.source_rank desc, said.signed_at, said.digest desc
    limit 1;
end;
comment on function ledger.cause(bigint, text, text, timestamptz) is
'The event behind an entry of a chain: that of the status, of the revocation or of the transaction that made it';
grant execute on function ledger.cause(bigint, text, text, timestamptz) to tenure_writer;
