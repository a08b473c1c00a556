-- Headers whose id stands for another header already: there must be none.
select staged.header_id
from staged_header as staged
inner join ingest.protected_header as stored on stored.header_id = staged.header_id
where stored.header <> staged.header;
