-- Puts down the days on which something happened that a source told: $1 apps, $2 environments, $3 days since 1970, $4 the
-- source. The last statement of a batch that may wait for another ingester's.
insert into ingest.heard_day (app_id, source, environment, day)
select
    app_id,
    $4,
    environment,
    date '1970-01-01' + day::integer
from unnest($1::bigint[], $2::text[], $3::bigint[]) as heard (app_id, environment, day)
order by app_id, environment collate "C", day
on conflict do nothing;
