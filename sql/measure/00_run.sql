-- What the steps of a run know of it.
create temp table this_run (
    run_id bigint not null,
    as_of timestamptz not null,
    zone text not null,
    wait_for_word interval not null,
    mrr_factors text not null,
    currency text not null,
    is_rebuild boolean not null,
    book_id bigint not null,
    is_summed_anew boolean not null
) on commit drop;

-- What the stores take of each app, where that is not the standard: the name of Apple's programme, or a share.
create temp table programme (
    app_id bigint primary key,
    name text,
    share numeric
) on commit drop;
