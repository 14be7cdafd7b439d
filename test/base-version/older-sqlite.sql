-- The tables and views of c58fcee on SQLite.

CREATE TABLE sites (
  id integer primary key,
  epoch text not null,
  revision integer not null,
  counters text not null
) strict;

CREATE TABLE records (
  site_id integer not null,
  resource text not null,
  id integer not null,
  revision integer not null,
  body text,
  primary key (site_id, resource, id)
) strict, without rowid;

CREATE TABLE journal (
  site_id integer not null,
  revision integer not null,
  at integer not null,
  actor text not null,
  resource text not null,
  id integer not null,
  operation text not null,
  body text not null,
  primary key (site_id, revision)
) strict, without rowid;

CREATE TABLE idempotency (
  site_id integer not null,
  key_id integer not null,
  name text not null,
  digest text not null,
  at integer not null,
  operation text not null,
  id integer not null,
  revision integer not null,
  body text not null,
  primary key (site_id, key_id, name)
) strict, without rowid;

CREATE INDEX idempotency_at on idempotency (at);

CREATE TABLE key_uses (
  key_id integer primary key,
  at integer not null
) strict;

CREATE VIEW "brand" as select site_id, id, revision, json_extract(body, '$.Name') as "name", json_extract(body, '$.AccountNumber') as "account_number", json_extract(body, '$.Telephone.Daytime') as "telephone_daytime", json_extract(body, '$.Telephone.Evening') as "telephone_evening", json_extract(body, '$.Telephone.Mobile') as "telephone_mobile", json_extract(body, '$.Address.Title') as "address_title", json_extract(body, '$.Address.Firstname') as "address_firstname", json_extract(body, '$.Address.Surname') as "address_surname", json_extract(body, '$.Address.AddressLine1') as "address_address_line1", json_extract(body, '$.Address.AddressLine2') as "address_address_line2", json_extract(body, '$.Address.Town') as "address_town", json_extract(body, '$.Address.County') as "address_county", json_extract(body, '$.Address.Postcode') as "address_postcode", json_extract(body, '$.Address.Country') as "address_country" from records where resource = 'brand' and body is not null;

CREATE VIEW "order_status" as select site_id, id, revision, json_extract(body, '$.Name') as "name" from records where resource = 'order-status' and body is not null;

CREATE VIEW "location" as select site_id, id, revision, json_extract(body, '$.Code') as "code", json_extract(body, '$.Name') as "name", json_extract(body, '$.Manager') as "manager", json_extract(body, '$.Email') as "email", json_extract(body, '$.Telephone.Daytime') as "telephone_daytime", json_extract(body, '$.Telephone.Evening') as "telephone_evening", json_extract(body, '$.Telephone.Mobile') as "telephone_mobile", json_extract(body, '$.Address.Title') as "address_title", json_extract(body, '$.Address.Firstname') as "address_firstname", json_extract(body, '$.Address.Surname') as "address_surname", json_extract(body, '$.Address.AddressLine1') as "address_address_line1", json_extract(body, '$.Address.AddressLine2') as "address_address_line2", json_extract(body, '$.Address.Town') as "address_town", json_extract(body, '$.Address.County') as "address_county", json_extract(body, '$.Address.Postcode') as "address_postcode", json_extract(body, '$.Address.Country') as "address_country" from records where resource = 'location' and body is not null;

CREATE VIEW "site" as select site_id, id, revision, json_extract(body, '$.Name') as "name", json_extract(body, '$.Hostnames') as "hostnames", json_extract(body, '$.Default') as "default" from records where resource = 'site' and body is not null;

CREATE VIEW "key" as select site_id, id, revision, json_extract(body, '$.Site') as "site", json_extract(body, '$.Prefix') as "prefix", json_extract(body, '$.Digest') as "digest", json_extract(body, '$.Label') as "label", json_extract(body, '$.Scope') as "scope", json_extract(body, '$.Rate') as "rate", json_extract(body, '$.Created') as "created", json_extract(body, '$.Expires') as "expires", json_extract(body, '$.Revoked') as "revoked" from records where resource = 'key' and body is not null;

pragma user_version = 1;
