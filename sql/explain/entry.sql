-- Entries, and whether each still stands: of lines that are alike those count that are not reversed, the latest ones.
-- Whoever reads this filters by columns that the window is partitioned by, so that nothing else is read.
select
    *,
    concat_ws(
        ':',
        subscription_key,
        transaction_id,
        to_char(purchased_at at time zone 'UTC', 'YYYYMMDD"T"HH24MISS.US"Z"'),
        run_id,
        line
    ) as entry_id,
    row_number() over (alike order by sign desc, run_id desc, line desc) <= sum(sign) over alike as is_standing
from ledger.entry
window alike as (
    partition by
        subscription_key,
        purchased_at,
        transaction_id,
        part,
        at,
        kind,
        product_id,
        country,
        offer,
        active,
        trial,
        grace,
        retry,
        set_to_cancel,
        paused,
        family,
        charge,
        amount,
        currency,
        tax,
        commission,
        proceeds,
        price,
        price_currency,
        period,
        days,
        from_product_id,
        from_country,
        from_offer,
        from_price,
        from_currency,
        from_period,
        from_days,
        from_purchased_at,
        is_past_first_year
);
