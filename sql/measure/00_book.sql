-- Opens a new book when the settings differ from the newest's, and says what the steps need to know.
-- $1 the run's number, $2 its as-of moment, $3 the reporting zone, $4 the wait for the store's word in seconds, $5 the factors
-- that bring prices to a month, $6 the reporting currency, $7 whether everything is derived again, $8 what the stores take of each
-- app: its programme's name or a share, by the app's key.
with taken as (
    insert into programme
    select
        app.app_id,
        case when agreed.terms !~ '^[0-9]' then agreed.terms end,
        case when agreed.terms ~ '^[0-9]' then agreed.terms::numeric end
    from jsonb_each_text($8::jsonb) as agreed (app_key, terms)
    inner join ingest.app as app using (app_key)
),

newest as (
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
            -- Another number when the steps sum otherwise than before, so that all is summed anew.
            'sums', 3,
            'timezone', $3::text,
            'wait_for_word', $4::bigint,
            'mrr_factors', $5::text,
            'currency', $6::text,
            'commission', $8::jsonb,
            'tax_rates', (
                select md5(string_agg(concat_ws('|', country, from_day, rate), ',' order by country, from_day))
                from reference.tax_rate
            ),
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
    $6::text,
    -- The wait decides how periods end, not only how they are summed.
    $7::boolean
    or coalesce((newest.settings -> 'wait_for_word') is distinct from (wanted.settings -> 'wait_for_word'), false)
    and newest.book_id is not null
    -- Books of before amounts were converted do not tell how long each chain had been served.
    or coalesce(not newest.settings ? 'currency', false),
    coalesce(opened.book_id, newest.book_id),
    $7::boolean or opened.book_id is not null and newest.book_id is not null
from wanted
left join newest on true
left join opened on true;
