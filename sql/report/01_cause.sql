-- Which event made an entry? The version of the transaction that counts; for what the store said of a period's end, the
-- status or the revocation that said it.
drop function if exists ledger.cause;
create function ledger.cause(entry_of bigint, transaction_of text, kind_of text, happened_at timestamptz)
returns table (event_id text, source text)
language sql stable
begin atomic
    select
        said.event_id,
        said.source
    from (
        -- A switch of auto-renew is the status that told it.
        select
            1 as nth,
            renewal.event_id,
            renewal.source,
            renewal.signed_at,
            renewal.source_rank,
            renewal.digest
        from fact.renewal as renewal
        where
            kind_of in ('auto_renew_disabled', 'auto_renew_enabled')
            and renewal.subscription_key = entry_of and renewal.signed_at = happened_at
        union all
        -- A revocation is the first version that named its moment, and its end the version without one.
        select
            2,
            version.event_id,
            version.source,
            version.signed_at,
            version.source_rank,
            version.digest
        from fact.transaction as version
        where
            version.subscription_key = entry_of and version.transaction_id = transaction_of
            and (
                version.revoked_at = happened_at and kind_of <> 'refund_reversed'
                or kind_of = 'refund_reversed' and version.signed_at = happened_at
            )
        union all
        -- What ended a period is the newest status about it that says why.
        select
            3,
            renewal.event_id,
            renewal.source,
            renewal.signed_at,
            renewal.source_rank,
            renewal.digest
        from ledger.period as period
        inner join fact.renewal as renewal using (subscription_key)
        where
            (
                starts_with(kind_of, 'churned_')
                or kind_of in (
                    'suspended', 'paused', 'pause_ended', 'grace_entered', 'retry_ended', 'trial_ended', 'family_ended'
                )
            )
            and period.subscription_key = entry_of and period.transaction_id = transaction_of
            and period.closing <> 'continued'
            and renewal.signed_at >= period.purchased_at
            and renewal.signed_at < coalesce(
                (
                    select min(next_period.purchased_at)
                    from ledger.period as next_period
                    where
                        next_period.subscription_key = entry_of
                        and next_period.purchased_at > period.purchased_at
                ),
                'infinity'
            )
            and (
                renewal.expiration_reason is not null or renewal.in_billing_retry or renewal.paused_at is not null
                or renewal.grace_expires_at is not null or not renewal.auto_renew
            )
        union all
        select
            4,
            version.event_id,
            version.source,
            version.signed_at,
            version.source_rank,
            version.digest
        from fact.transaction as version
        where version.subscription_key = entry_of and version.transaction_id = transaction_of
    ) as said
    order by said.nth, said.source_rank desc, said.signed_at desc, said.digest desc
    limit 1;
end;
comment on function ledger.cause(bigint, text, text, timestamptz) is
'The event behind an entry of a chain: that of the transaction, of the status or of the revocation that made it';
grant execute on function ledger.cause(bigint, text, text, timestamptz) to tenure_writer;
