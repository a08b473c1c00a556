-- What people bring: products, prices, offers; and the currencies of ISO 4217.
create schema reference;
comment on schema reference is 'Catalogue, offers and standard tables';

create table reference.product (
    app_id bigint not null,
    product_id text not null,
    group_id text,
    group_name text,
    name text,
    level integer,
    period text,
    type text,
    primary key (app_id, product_id)
);
comment on table reference.product is 'Products as the catalogue describes them';
comment on column reference.product.level is 'Rank within the group; 1 is the highest';

create table reference.product_price (
    app_id bigint not null,
    product_id text not null,
    country text not null,
    currency text,
    price bigint not null,
    primary key (app_id, product_id, country)
);
comment on table reference.product_price is 'List prices in micros; the country is empty where the catalogue gives none';

create table reference.winback_offer (
    app_id bigint not null,
    offer_id text not null,
    product_ids text[],
    min_paid_months integer,
    min_months_since integer,
    max_months_since integer,
    wait_months integer,
    starts_on date,
    ends_on date,
    territories text[],
    priority text not null default 'normal',
    primary key (app_id, offer_id),
    constraint priority_is_known check (priority in ('high', 'normal'))
);
comment on table reference.winback_offer is 'Rules of win-back offers; bounds are inclusive, null is no bound';
