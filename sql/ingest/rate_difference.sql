-- What the staged rates change: a row per currency and day that is to be another than it is.
analyze staged_rate;

create temporary table rate_difference on commit drop as
with
-- Days that the file does not have stay, and say what held before its days.
timeline as (
    select
        staged.currency,
        staged.day,
        staged.per_euro::numeric as per_euro,
        true as is_staged
    from staged_rate as staged
    union all
    select
        stored.currency,
        stored.day,
        stored.per_euro,
        false as is_staged
    from reference.rate as stored
    where
        stored.currency in (select staged.currency from staged_rate as staged)
        and stored.day not in (select staged.day from staged_rate as staged)
),

followed as (
    select
        timeline.currency,
        timeline.day,
        timeline.per_euro,
        timeline.is_staged,
        lag(timeline.per_euro) over (partition by timeline.currency order by timeline.day) as per_euro_before
    from timeline
),

-- A day without a rate is worth a row where it ends one.
wanted as (
    select
        followed.currency,
        followed.day,
        followed.per_euro,
        followed.per_euro is not null or followed.per_euro_before is not null as is_row
    from followed
    where followed.is_staged
)

select
    wanted.currency,
    wanted.day,
    wanted.per_euro,
    wanted.is_row,
    stored.day is not null as had_rate,
    stored.per_euro as had_per_euro
from wanted
left join reference.rate as stored on wanted.currency = stored.currency and wanted.day = stored.day
where
    wanted.is_row <> (stored.day is not null)
    or (wanted.is_row and wanted.per_euro is distinct from stored.per_euro);
