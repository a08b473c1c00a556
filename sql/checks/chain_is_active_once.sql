-- Every settled chain's entries, read in order, say active or not active, and nothing else.
select
    subscription_key,
    at,
    active
from (
    select
        moves.subscription_key,
        moves.at,
        sum(sum(moves.active)) over (partition by moves.subscription_key order by moves.at) as active
    from (
        select
            entry.subscription_key,
            entry.at,
            entry.sign * entry.active as active
        from settling
        inner join ledger.entry as entry using (subscription_key)
        where entry.active <> 0
    ) as moves
    group by moves.subscription_key, moves.at
) as levels
where active not in (0, 1);
