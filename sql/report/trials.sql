-- What became of the trials that began on each day? Each is in exactly one of converted, expired, cancelled, running and
-- in_retry.
create view report.trials as
select
    app.app_key as app,
    total.environment,
    total.store,
    total.day,
    nullif(total.product_id, '') as product_id,
    nullif(total.country, '') as country,
    total.started,
    total.converted,
    total.expired,
    total.cancelled,
    total.running,
    total.in_retry,
    trim_scale(round(total.converted::numeric / nullif(total.started, 0), 6)) as conversion_rate,
    total.cancelled + total.running + total.in_retry = 0 as is_complete
from measure.daily_trial as total
inner join ingest.app as app using (app_id);

comment on view report.trials is
'Trials by the day they began, one row per day, product and country of their first period';
comment on column report.trials.app is 'Dimension: the app''s key';
comment on column report.trials.environment is 'Dimension: the store''s environment';
comment on column report.trials.store is 'Dimension: the store';
comment on column report.trials.day is 'Dimension: the reporting day the trial began, in the reporting time zone';
comment on column report.trials.product_id is 'Dimension: the product''s id; null where it is unknown';
comment on column report.trials.country is 'Dimension: the storefront, three letters; null where it is unknown';
comment on column report.trials.started is 'Flow: trials begun';
comment on column report.trials.converted is
'Flow: trials followed by a charge, without losing access or recovered in retry';
comment on column report.trials.expired is 'Flow: trials that ended unpaid';
comment on column report.trials.cancelled is 'Flow: trials still running with auto-renew off';
comment on column report.trials.running is 'Flow: trials still running';
comment on column report.trials.in_retry is
'Flow: trials whose charge failed and is still retried, in grace or after it';
comment on column report.trials.conversion_rate is 'Ratio: converted / started';
comment on column report.trials.is_complete is
'Every: whether no trial of the row is cancelled, running or in retry, so that its rate is final';

grant select on report.trials to tenure_reader, tenure_support, tenure_writer;
