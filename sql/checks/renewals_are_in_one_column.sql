-- Each renewal that was due is in exactly one of its columns.
select
    app_id,
    environment,
    store,
    product_id,
    country,
    day,
    due,
    renewed + recovered_in_grace + recovered_in_retry + changed_product + lost + open as told
from measure.daily_renewal
where due <> renewed + recovered_in_grace + recovered_in_retry + changed_product + lost + open;
