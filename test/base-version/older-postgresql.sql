-- The tables and views of c58fcee on PostgreSQL.

create table sites (
  id bigint primary key,
  epoch text not null,
  revision bigint not null,
  counters text not null
);

create table records (
  site_id bigint not null,
  resource text not null,
  id bigint not null,
  revision bigint not null,
  body text,
  primary key (site_id, resource, id)
);

create table journal (
  site_id bigint not null,
  revision bigint not null,
  at bigint not null,
  actor text not null,
  resource text not null,
  id bigint not null,
  operation text not null,
  body text not null,
  primary key (site_id, revision)
);

create table idempotency (
  site_id bigint not null,
  key_id bigint not null,
  name text not null,
  digest text not null,
  at bigint not null,
  operation text not null,
  id bigint not null,
  revision bigint not null,
  body text not null,
  primary key (site_id, key_id, name)
);

create index idempotency_at on idempotency (site_id, at);

create table key_uses (
  key_id bigint primary key,
  at bigint not null
);

create table storefront_schema (id bigint primary key, version bigint not null, views text not null);
insert into storefront_schema values (1, 1, '0ca1c6c6f052475862b06117e59071382a12178acdbd0b77dbd84abf424ec39b');

create view "brand" as SELECT site_id,
    id,
    revision,
    ((body)::json #>> '{Name}'::text[]) AS name,
    ((body)::json #>> '{AccountNumber}'::text[]) AS account_number,
    ((body)::json #>> '{Telephone,Daytime}'::text[]) AS telephone_daytime,
    ((body)::json #>> '{Telephone,Evening}'::text[]) AS telephone_evening,
    ((body)::json #>> '{Telephone,Mobile}'::text[]) AS telephone_mobile,
    ((body)::json #>> '{Address,Title}'::text[]) AS address_title,
    ((body)::json #>> '{Address,Firstname}'::text[]) AS address_firstname,
    ((body)::json #>> '{Address,Surname}'::text[]) AS address_surname,
    ((body)::json #>> '{Address,AddressLine1}'::text[]) AS address_address_line1,
    ((body)::json #>> '{Address,AddressLine2}'::text[]) AS address_address_line2,
    ((body)::json #>> '{Address,Town}'::text[]) AS address_town,
    ((body)::json #>> '{Address,County}'::text[]) AS address_county,
    ((body)::json #>> '{Address,Postcode}'::text[]) AS address_postcode,
    ((body)::json #>> '{Address,Country}'::text[]) AS address_country
   FROM records
  WHERE ((resource = 'brand'::text) AND (body IS NOT NULL));

create view "order_status" as SELECT site_id,
    id,
    revision,
    ((body)::json #>> '{Name}'::text[]) AS name
   FROM records
  WHERE ((resource = 'order-status'::text) AND (body IS NOT NULL));

create view "location" as SELECT site_id,
    id,
    revision,
    ((body)::json #>> '{Code}'::text[]) AS code,
    ((body)::json #>> '{Name}'::text[]) AS name,
    ((body)::json #>> '{Manager}'::text[]) AS manager,
    ((body)::json #>> '{Email}'::text[]) AS email,
    ((body)::json #>> '{Telephone,Daytime}'::text[]) AS telephone_daytime,
    ((body)::json #>> '{Telephone,Evening}'::text[]) AS telephone_evening,
    ((body)::json #>> '{Telephone,Mobile}'::text[]) AS telephone_mobile,
    ((body)::json #>> '{Address,Title}'::text[]) AS address_title,
    ((body)::json #>> '{Address,Firstname}'::text[]) AS address_firstname,
    ((body)::json #>> '{Address,Surname}'::text[]) AS address_surname,
    ((body)::json #>> '{Address,AddressLine1}'::text[]) AS address_address_line1,
    ((body)::json #>> '{Address,AddressLine2}'::text[]) AS address_address_line2,
    ((body)::json #>> '{Address,Town}'::text[]) AS address_town,
    ((body)::json #>> '{Address,County}'::text[]) AS address_county,
    ((body)::json #>> '{Address,Postcode}'::text[]) AS address_postcode,
    ((body)::json #>> '{Address,Country}'::text[]) AS address_country
   FROM records
  WHERE ((resource = 'location'::text) AND (body IS NOT NULL));

create view "site" as SELECT site_id,
    id,
    revision,
    ((body)::json #>> '{Name}'::text[]) AS name,
    ((body)::json #>> '{Hostnames}'::text[]) AS hostnames,
    ((body)::json #>> '{Default}'::text[]) AS "default"
   FROM records
  WHERE ((resource = 'site'::text) AND (body IS NOT NULL));

create view "key" as SELECT site_id,
    id,
    revision,
    ((body)::json #>> '{Site}'::text[]) AS site,
    ((body)::json #>> '{Prefix}'::text[]) AS prefix,
    ((body)::json #>> '{Digest}'::text[]) AS digest,
    ((body)::json #>> '{Label}'::text[]) AS label,
    ((body)::json #>> '{Scope}'::text[]) AS scope,
    ((body)::json #>> '{Rate}'::text[]) AS rate,
    ((body)::json #>> '{Created}'::text[]) AS created,
    ((body)::json #>> '{Expires}'::text[]) AS expires,
    ((body)::json #>> '{Revoked}'::text[]) AS revoked
   FROM records
  WHERE ((resource = 'key'::text) AND (body IS NOT NULL));
