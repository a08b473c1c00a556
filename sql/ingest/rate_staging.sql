-- What a file of exchange rates says: a row per currency and day that it has, without a rate where none was published.
-- For the length of one transaction.
create temporary table staged_rate (
    currency text not null,
    day date not null,
    per_euro text
) on commit drop;
