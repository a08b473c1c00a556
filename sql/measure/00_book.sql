-- Opens a new book when the settings differ from the newest's, and says what the steps need to know.
-- $1 the run's number, $2 its as-of moment, $3 the reporting zone, $4 the wait for the store's word in seconds, $5 the factors
-- that bring prices to a month, $6 whether everything is derived again.
with newest as (
    select
        book_id,
        settings
    from measure.book
    order by book_id desc
    limit 1
),

wanted as (
    select
        jsonb_build_object(
            'timezone', $3::text,
            'wait_for_word', $4::bigint,
            'mrr_factors', $5::text,
            'catalogue', md5(
                coalesce(
                    string_agg(
                        concat_ws('|', app_id, product_id, level, period), ',' order by app_id, product_id
                    ) filter (where level is not null or period is not null),
                    ''
                )
            )
        ) as settings
    from reference.product
),

opened as (
    insert into measure.book (settings, opened_at)
    select
        settings,
        clock_timestamp()
    from wanted
    where settings is distinct from (select newest.settings from newest)
    returning book_id
)

insert into this_run
select
    $1::bigint,
    $2::timestamptz,
    $3::text,
    make_interval(secs => $4::bigint),
    $5::text,
    -- The wait decides how periods end, not only how they are summed.
    $6::boolean
    or coalesce((newest.settings -> 'wait_for_word') is distinct from (wanted.settings -> 'wait_for_word'), false)
    and newest.book_id is not null,
    coalesce(opened.book_id, newest.book_id),
    $6::boolean or opened.book_id is not null and newest.book_id is not null
from wanted
left join newest on true
left join opened on true;
