-- How many of these events are there already: $1 their apps, $2 their ids, $3 their source.
select count(*) as known
from unnest($1::bigint[], $2::text[]) as wanted (app_id, event_id)
inner join ingest.event as stored
    on
        stored.app_id = wanted.app_id
        and stored.source = $3
        and stored.event_id = wanted.event_id;
