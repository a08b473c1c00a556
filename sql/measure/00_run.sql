-- What the steps of a run know of it.
create temp table this_run (
    run_id bigint not null,
    as_of timestamptz not null,
    zone text not null,
    wait_for_word interval not null,
    mrr_factors text not null,
    is_rebuild boolean not null,
    book_id bigint not null,
    is_summed_anew boolean not null
) on commit drop;
