-- Writes down how requests ended: a row per delivery of the arrays $1 (delivery), $2 (the claim it was sent under), $3
-- (state), $4 (HTTP status), $5 (error), $6 (due), $7 (failures), $8 (failing since), $9 (when it ended), $10
-- (what is sent from now on instead). A delivery that another session has taken since is left to it.
update forward.delivery
set
    state = ended.state,
    attempts = delivery.attempts + 1,
    failures = ended.failures,
    failing_since = ended.failing_since,
    due_at = coalesce(ended.due_at, delivery.due_at),
    last_status = ended.status,
    last_error = ended.error,
    delivered_at = case when ended.state = 'delivered' then ended.at end,
    body = case when ended.state = 'delivered' then null else coalesce(ended.body, delivery.body) end,
    claim = null
from unnest(
    $1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::timestamptz[], $7::bigint[],
    $8::timestamptz[], $9::timestamptz[], $10::text[]
) as ended (delivery_id, claim, state, status, error, due_at, failures, failing_since, at, body)
where delivery.delivery_id = ended.delivery_id and delivery.claim = ended.claim and delivery.state = 'waiting'
returning delivery.delivery_id
