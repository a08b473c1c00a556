-- The numbers of sessions that had deliveries in hand and have ended: their lock is gone. No number is given twice, so
-- one that has ended stays so.
select distinct delivery.claim
from forward.delivery as delivery
where
    delivery.claim is not null
    and not exists (
        select from pg_catalog.pg_locks as held
        where
            held.locktype = 'advisory'
            and held.classid = 1718579831
            and held.objid = delivery.claim::oid
            and held.objsubid = 2
            and held.database = (
                select database.oid from pg_catalog.pg_database as database
                where database.datname = current_database()
            )
    )
