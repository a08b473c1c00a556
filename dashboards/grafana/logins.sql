-- The two logins that Grafana reads with: run by psql with TENURE_GRAFANA_PASSWORD in the environment, as a login that may
-- create roles, after tenure migrate. It can be run again, and then sets the password anew.
\set ON_ERROR_STOP on
\getenv password TENURE_GRAFANA_PASSWORD
\if :{?password}
\else
    \warn 'TENURE_GRAFANA_PASSWORD is not set: choose the password of the logins that Grafana reads with'
    select 1 / 0 as password_is_missing;
\endif

select
    format('create role %I login', login.name)
from (values ('tenure_grafana'), ('tenure_grafana_support')) as login (name)
where not exists (select from pg_catalog.pg_roles where pg_roles.rolname = login.name) \gexec

alter role tenure_grafana with password :'password';
alter role tenure_grafana_support with password :'password';
grant tenure_reader to tenure_grafana;
grant tenure_support to tenure_grafana_support;
-- Nothing is ever written, and no panel keeps the database busy for long.
alter role tenure_grafana set default_transaction_read_only = on;
alter role tenure_grafana_support set default_transaction_read_only = on;
alter role tenure_grafana set statement_timeout = '60s';
alter role tenure_grafana_support set statement_timeout = '60s';
