-- Entries, and of changes of product and their refunds which way they went, as the totals take them.
select
    entry.*,
    case
        when entry.kind = 'product_changed' or entry.charge = 'product_change'
            then
                (
                    select
                        measure.direction(
                            product.level,
                            from_product.level,
                            monthly.mrr,
                            monthly.from_mrr,
                            told.price_currency,
                            told.from_currency
                        )
                    from (
                        -- A change is told by its beginning, to its refund too.
                        select began.*
                        from ledger.entry as began
                        where
                            began.subscription_key = entry.subscription_key
                            and began.purchased_at = entry.purchased_at
                            and began.transaction_id = entry.transaction_id
                            and began.part = 0
                            and (
                                entry.part = 1
                                or began.run_id = entry.run_id and began.line = entry.line
                            )
                        order by began.run_id desc, began.sign desc
                        limit 1
                    ) as told
                    cross join asked
                    inner join fact.chain as chain on told.subscription_key = chain.subscription_key
                    left join reference.product as product
                        on chain.app_id = product.app_id and told.product_id = product.product_id
                    left join reference.product as from_product
                        on chain.app_id = from_product.app_id and told.from_product_id = from_product.product_id
                    cross join lateral (
                        select
                            measure.monthly_price(
                                told.price, told.period, product.period, told.days, asked.mrr_factors
                            ) as mrr,
                            measure.monthly_price(
                                told.from_price,
                                told.from_period,
                                from_product.period,
                                told.from_days,
                                asked.mrr_factors
                            ) as from_mrr
                    ) as monthly
                )
    end as direction
from entry;
