-- A SQLite database that commit 271c903 has opened and written to. Commit c58fcee had made it, with the sites shop and garden.

CREATE TABLE sites (
  id integer primary key,
  epoch text not null,
  revision integer not null,
  counters text not null
, floor integer, last_at integer, live text, live_revision integer) strict;

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
  body text not null, run text, before text,
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

CREATE TABLE key_uses (
  key_id integer primary key,
  at integer not null
) strict;

CREATE TABLE webhook_state (
  site_id integer not null,
  webhook_id integer not null,
  home text not null,
  cursor text not null,
  epoch text not null,
  first_revision integer not null,
  last_revision integer not null,
  rewinds integer not null,
  failures integer not null,
  failing_since integer,
  next_at integer not null,
  is_gone integer not null,
  holder text,
  lease_until integer not null,
  primary key (site_id, webhook_id)
) strict, without rowid;

CREATE TABLE webhook_secrets (
  site_id integer not null,
  webhook_id integer not null,
  created_at integer not null,
  secret text not null,
  until integer,
  primary key (site_id, webhook_id, created_at)
) strict, without rowid;

CREATE TABLE webhook_attempts (
  site_id integer not null,
  webhook_id integer not null,
  number integer not null,
  at integer not null,
  status integer,
  milliseconds integer not null,
  fault text,
  primary key (site_id, webhook_id, number)
) strict, without rowid;

CREATE TABLE this_database (
  id integer primary key,
  name text not null
) strict;

CREATE TABLE credentials (
  digest text not null primary key,
  kind text not null,
  operator_id integer not null,
  expires_at integer not null
) strict, without rowid;

CREATE TABLE last_backup (id bigint primary key, at bigint not null);

CREATE INDEX idempotency_at on idempotency (at);

CREATE VIEW "brand" as select site_id, id, revision, coalesce(json_extract(body, '$.Name'), '') as "name", coalesce(json_extract(body, '$.AccountNumber'), '') as "account_number", coalesce(json_extract(body, '$.Telephone.Daytime'), '') as "telephone_daytime", coalesce(json_extract(body, '$.Telephone.Evening'), '') as "telephone_evening", coalesce(json_extract(body, '$.Telephone.Mobile'), '') as "telephone_mobile", coalesce(json_extract(body, '$.Address.Title'), '') as "address_title", coalesce(json_extract(body, '$.Address.Firstname'), '') as "address_firstname", coalesce(json_extract(body, '$.Address.Surname'), '') as "address_surname", coalesce(json_extract(body, '$.Address.AddressLine1'), '') as "address_address_line1", coalesce(json_extract(body, '$.Address.AddressLine2'), '') as "address_address_line2", coalesce(json_extract(body, '$.Address.Town'), '') as "address_town", coalesce(json_extract(body, '$.Address.County'), '') as "address_county", coalesce(json_extract(body, '$.Address.Postcode'), '') as "address_postcode", coalesce(json_extract(body, '$.Address.Country'), '') as "address_country" from records where resource = 'brand' and body is not null;

CREATE VIEW "order_status" as select site_id, id, revision, coalesce(json_extract(body, '$.Name'), '') as "name" from records where resource = 'order-status' and body is not null;

CREATE VIEW "location" as select site_id, id, revision, coalesce(json_extract(body, '$.Code'), '') as "code", coalesce(json_extract(body, '$.Name'), '') as "name", coalesce(json_extract(body, '$.Manager'), '') as "manager", coalesce(json_extract(body, '$.Email'), '') as "email", coalesce(json_extract(body, '$.Telephone.Daytime'), '') as "telephone_daytime", coalesce(json_extract(body, '$.Telephone.Evening'), '') as "telephone_evening", coalesce(json_extract(body, '$.Telephone.Mobile'), '') as "telephone_mobile", coalesce(json_extract(body, '$.Address.Title'), '') as "address_title", coalesce(json_extract(body, '$.Address.Firstname'), '') as "address_firstname", coalesce(json_extract(body, '$.Address.Surname'), '') as "address_surname", coalesce(json_extract(body, '$.Address.AddressLine1'), '') as "address_address_line1", coalesce(json_extract(body, '$.Address.AddressLine2'), '') as "address_address_line2", coalesce(json_extract(body, '$.Address.Town'), '') as "address_town", coalesce(json_extract(body, '$.Address.County'), '') as "address_county", coalesce(json_extract(body, '$.Address.Postcode'), '') as "address_postcode", coalesce(json_extract(body, '$.Address.Country'), '') as "address_country" from records where resource = 'location' and body is not null;

CREATE VIEW "site" as select site_id, id, revision, coalesce(json_extract(body, '$.Name'), '') as "name", coalesce(json_extract(body, '$.Hostnames'), '') as "hostnames", coalesce(json_extract(body, '$.Default'), '') as "default", coalesce(json_extract(body, '$.Suspended'), '') as "suspended", coalesce(json_extract(body, '$.Importing'), '') as "importing" from records where resource = 'site' and body is not null;

CREATE VIEW "key" as select site_id, id, revision, coalesce(json_extract(body, '$.Site'), '') as "site", coalesce(json_extract(body, '$.Prefix'), '') as "prefix", coalesce(json_extract(body, '$.Digest'), '') as "digest", coalesce(json_extract(body, '$.Label'), '') as "label", coalesce(json_extract(body, '$.Scope'), '') as "scope", coalesce(json_extract(body, '$.Rate'), '') as "rate", coalesce(json_extract(body, '$.Created'), '') as "created", coalesce(json_extract(body, '$.Expires'), '') as "expires", coalesce(json_extract(body, '$.Revoked'), '') as "revoked" from records where resource = 'key' and body is not null;

CREATE VIEW "webhook" as select site_id, id, revision, coalesce(json_extract(body, '$.Site'), '') as "site", coalesce(json_extract(body, '$.URL'), '') as "url", coalesce(json_extract(body, '$.Resources'), '') as "resources", coalesce(json_extract(body, '$.Created'), '') as "created", coalesce(json_extract(body, '$.Paused'), '') as "paused", coalesce(json_extract(body, '$.Reason'), '') as "reason" from records where resource = 'webhook' and body is not null;

CREATE VIEW "operator" as select site_id, id, revision, coalesce(json_extract(body, '$.Name'), '') as "name", coalesce(json_extract(body, '$.Sites'), '') as "sites", coalesce(json_extract(body, '$.Created'), '') as "created" from records where resource = 'operator' and body is not null;

insert into sites (id, epoch, revision, counters, floor, last_at, live, live_revision) values
(0, '4lhhvI2N', 14, '{"site":5,"key":4,"webhook":2,"operator":1}', null, 1795424647506, '{"key":{"count":4,"revision":10},"site":{"count":4,"revision":14},"webhook":{"count":2,"revision":12},"operator":{"count":1,"revision":13}}', 14),
(1, 'SdOyY4ma', 12, '{"brand":3,"order-status":2,"location":2}', null, 1795317521467, null, null),
(2, '538LWMLm', 2, '{"brand":1}', null, 1795424634730, '{"brand":{"count":1,"revision":2}}', 2),
(3, 'jny83iLo', 10, '{"brand":3,"order-status":1,"location":2}', 2, 1795424639645, '{"brand":{"count":2,"revision":10},"order-status":{"count":1,"revision":4},"location":{"count":2,"revision":7}}', 10),
(5, '', 0, '{}', 0, 0, '{}', 0);

insert into records (site_id, resource, id, revision, body) values
(0, 'key', 1, 3, '{"ID":1,"Site":"1","Prefix":"sfk_HxKxlPdN","Digest":"c2cfc4ab46622aa535fc51c5859988a635ea89c2036ec5e4b6f919c2d0618cc3","Label":"till","Scope":"write","Rate":"","Created":"2026-11-22T03:18:36.896Z","Expires":"","Revoked":""}'),
(0, 'key', 2, 6, '{"ID":2,"Site":"1","Prefix":"sfk_3KTJkAmw","Digest":"d929f56e6a43525460b0dfb979b2addf026650035c5757876ca840460ebcc11a","Label":"gone","Scope":"read","Rate":"","Created":"2026-11-22T03:18:37.236Z","Expires":"2027-02-20T03:18:37.236Z","Revoked":"2026-11-22T03:18:38.328Z"}'),
(0, 'key', 3, 5, '{"ID":3,"Site":"2","Prefix":"sfk_uM3lq0Zb","Digest":"f3781dfeeaa1cd32ea46a66a090a7bcffcd97da32442d39c404461c4ac3a53e4","Label":"","Scope":"write","Rate":"","Created":"2026-11-22T03:18:37.670Z","Expires":"","Revoked":""}'),
(0, 'key', 4, 10, '{"ID":4,"Site":"3","Prefix":"sfk_r0i3PHXL","Digest":"ea8c28c2d76a2715ebf59e811557c3ae2772a5ffc2e5d1195be1ab73edce0d08","Label":"till","Scope":"write","Rate":"","Created":"2026-11-23T09:03:54.178Z","Expires":"","Revoked":""}'),
(0, 'operator', 1, 13, '{"ID":1,"Name":"ben","Sites":"","Created":"2026-11-23T09:04:05.121Z"}'),
(0, 'site', 1, 1, '{"ID":1,"Name":"shop","Hostnames":"shop.example","Default":"yes"}'),
(0, 'site', 2, 2, '{"ID":2,"Name":"garden","Hostnames":"garden.example","Default":""}'),
(0, 'site', 3, 7, '{"ID":3,"Name":"market","Hostnames":"market.example","Default":"","Suspended":"","Importing":""}'),
(0, 'site', 4, 8, '{"ID":4,"Name":"empty","Hostnames":"empty.example","Default":"","Suspended":"","Importing":""}'),
(0, 'site', 5, 14, null),
(0, 'webhook', 1, 11, '{"ID":1,"Site":"3","URL":"https://erp.example/market","Resources":"","Created":"2026-11-23T09:04:02.390Z","Paused":"","Reason":""}'),
(0, 'webhook', 2, 12, '{"ID":2,"Site":"4","URL":"https://erp.example/empty","Resources":"","Created":"2026-11-23T09:04:03.574Z","Paused":"","Reason":""}'),
(1, 'brand', 1, 12, '{"ID":1,"Name":"Acme","AccountNumber":"A2","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(1, 'brand', 2, 4, '{"ID":2,"Name":"Bolt GmbH","AccountNumber":"","Telephone":{"Daytime":"0123","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 'brand', 3, 11, '{"ID":3,"Name":"Line\nbreak","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 'location', 1, 9, '{"ID":1,"Code":"ULM","Name":"Ulm","Manager":"","Email":"ulm@shop.example","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 'location', 2, 10, '{"ID":2,"Code":"KLN","Name":"Köln","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 'order-status', 1, 6, '{"ID":1,"Name":"Paid"}'),
(1, 'order-status', 2, 8, null),
(2, 'brand', 1, 2, '{"ID":1,"Name":"Rose 2","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(3, 'brand', 1, 3, '{"ID":1,"Name":"Acme","AccountNumber":"A2","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(3, 'brand', 2, 8, '{"ID":2,"Name":"Bolt","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(3, 'brand', 3, 10, null),
(3, 'location', 1, 6, '{"ID":1,"Code":"ULM","Name":"Ulm","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(3, 'location', 2, 7, '{"ID":2,"Code":"KLN","Name":"Köln","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(3, 'order-status', 1, 4, '{"ID":1,"Name":"Paid"}');

insert into journal (site_id, revision, at, actor, resource, id, operation, body, run, before) values
(0, 1, 1795317515714, 'operator', 'site', 1, 'create', '{"ID":1,"Name":"shop","Hostnames":"shop.example","Default":"yes"}', null, null),
(0, 2, 1795317516285, 'operator', 'site', 2, 'create', '{"ID":2,"Name":"garden","Hostnames":"garden.example","Default":""}', null, null),
(0, 3, 1795317516896, 'operator', 'key', 1, 'create', '{"ID":1,"Site":"1","Prefix":"sfk_HxKxlPdN","Digest":"c2cfc4ab46622aa535fc51c5859988a635ea89c2036ec5e4b6f919c2d0618cc3","Label":"till","Scope":"write","Rate":"","Created":"2026-11-22T03:18:36.896Z","Expires":"","Revoked":""}', null, null),
(0, 4, 1795317517236, 'operator', 'key', 2, 'create', '{"ID":2,"Site":"1","Prefix":"sfk_3KTJkAmw","Digest":"d929f56e6a43525460b0dfb979b2addf026650035c5757876ca840460ebcc11a","Label":"gone","Scope":"read","Rate":"","Created":"2026-11-22T03:18:37.236Z","Expires":"2027-02-20T03:18:37.236Z","Revoked":""}', null, null),
(0, 5, 1795317517670, 'operator', 'key', 3, 'create', '{"ID":3,"Site":"2","Prefix":"sfk_uM3lq0Zb","Digest":"f3781dfeeaa1cd32ea46a66a090a7bcffcd97da32442d39c404461c4ac3a53e4","Label":"","Scope":"write","Rate":"","Created":"2026-11-22T03:18:37.670Z","Expires":"","Revoked":""}', null, null),
(0, 6, 1795317518328, 'operator', 'key', 2, 'update', '{"ID":2,"Site":"1","Prefix":"sfk_3KTJkAmw","Digest":"d929f56e6a43525460b0dfb979b2addf026650035c5757876ca840460ebcc11a","Label":"gone","Scope":"read","Rate":"","Created":"2026-11-22T03:18:37.236Z","Expires":"2027-02-20T03:18:37.236Z","Revoked":"2026-11-22T03:18:38.328Z"}', null, null),
(0, 7, 1795424631011, 'operator:anna', 'site', 3, 'create', '{"ID":3,"Name":"market","Hostnames":"market.example","Default":"","Suspended":"","Importing":""}', 'fDxqW4kJ', null),
(0, 8, 1795424632121, 'operator:anna', 'site', 4, 'create', '{"ID":4,"Name":"empty","Hostnames":"empty.example","Default":"","Suspended":"","Importing":""}', '2GGozBA1', null),
(0, 9, 1795424633141, 'operator:anna', 'site', 5, 'create', '{"ID":5,"Name":"gone","Hostnames":"gone.example","Default":"","Suspended":"","Importing":""}', 'jdEvNeZP', null),
(0, 10, 1795424634178, 'operator:anna', 'key', 4, 'create', '{"ID":4,"Site":"3","Prefix":"sfk_r0i3PHXL","Digest":"ea8c28c2d76a2715ebf59e811557c3ae2772a5ffc2e5d1195be1ab73edce0d08","Label":"till","Scope":"write","Rate":"","Created":"2026-11-23T09:03:54.178Z","Expires":"","Revoked":""}', '9cBNuLs9', null),
(0, 11, 1795424642390, 'operator:anna', 'webhook', 1, 'create', '{"ID":1,"Site":"3","URL":"https://erp.example/market","Resources":"","Created":"2026-11-23T09:04:02.390Z","Paused":"","Reason":""}', '8WImBWNM', null),
(0, 12, 1795424643574, 'operator:anna', 'webhook', 2, 'create', '{"ID":2,"Site":"4","URL":"https://erp.example/empty","Resources":"","Created":"2026-11-23T09:04:03.574Z","Paused":"","Reason":""}', 'at843K0K', null),
(0, 13, 1795424645121, 'operator:anna', 'operator', 1, 'create', '{"ID":1,"Name":"ben","Sites":"","Created":"2026-11-23T09:04:05.121Z"}', 'h8IMQoEm', null),
(0, 14, 1795424647506, 'operator:anna', 'site', 5, 'delete', '{"ID":5,"Name":"gone","Hostnames":"gone.example","Default":"","Suspended":"","Importing":""}', 'NQmxxvJI', null),
(1, 1, 1795317519635, 'sfk_HxKxlPdN', 'brand', 1, 'create', '{"ID":1,"Name":"Acme","AccountNumber":"A1","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}', null, null),
(1, 2, 1795317519746, 'sfk_HxKxlPdN', 'brand', 2, 'create', '{"ID":2,"Name":"Bolt & Söhne","AccountNumber":"","Telephone":{"Daytime":"0123","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(1, 3, 1795317519775, 'sfk_HxKxlPdN', 'brand', 3, 'create', '{"ID":3,"Name":"Line\nbreak","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(1, 4, 1795317519855, 'sfk_HxKxlPdN', 'brand', 2, 'update', '{"ID":2,"Name":"Bolt GmbH","AccountNumber":"","Telephone":{"Daytime":"0123","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(1, 5, 1795317519904, 'sfk_HxKxlPdN', 'brand', 3, 'delete', '{"ID":3,"Name":"Line\nbreak","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(1, 6, 1795317519946, 'sfk_HxKxlPdN', 'order-status', 1, 'create', '{"ID":1,"Name":"Paid"}', null, null),
(1, 7, 1795317519981, 'sfk_HxKxlPdN', 'order-status', 2, 'create', '{"ID":2,"Name":"Sent"}', null, null),
(1, 8, 1795317520040, 'sfk_HxKxlPdN', 'order-status', 2, 'delete', '{"ID":2,"Name":"Sent"}', null, null),
(1, 9, 1795317520747, 'operator', 'location', 1, 'create', '{"ID":1,"Code":"ULM","Name":"Ulm","Manager":"","Email":"ulm@shop.example","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(1, 10, 1795317520747, 'operator', 'location', 2, 'create', '{"ID":2,"Code":"KLN","Name":"Köln","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(1, 11, 1795317521377, 'operator', 'brand', 3, 'restore', '{"ID":3,"Name":"Line\nbreak","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(1, 12, 1795317521467, 'sfk_HxKxlPdN', 'brand', 1, 'update', '{"ID":1,"Name":"Acme","AccountNumber":"A2","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}', null, null),
(2, 1, 1795317521523, 'sfk_uM3lq0Zb', 'brand', 1, 'create', '{"ID":1,"Name":"Rose","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(2, 2, 1795424634730, 'sfk_uM3lq0Zb', 'brand', 1, 'update', '{"ID":1,"Name":"Rose 2","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, '{"ID":1,"Name":"Rose","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(3, 3, 1795424634692, 'sfk_r0i3PHXL', 'brand', 1, 'update', '{"ID":1,"Name":"Acme","AccountNumber":"A2","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}', null, '{"ID":1,"Name":"Acme","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(3, 4, 1795424634700, 'sfk_r0i3PHXL', 'order-status', 1, 'create', '{"ID":1,"Name":"Paid"}', null, null),
(3, 5, 1795424634719, 'sfk_r0i3PHXL', 'brand', 2, 'delete', '{"ID":2,"Name":"Bolt","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(3, 6, 1795424636171, 'operator:anna', 'location', 1, 'create', '{"ID":1,"Code":"ULM","Name":"Ulm","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', 'kXSIYElb', null),
(3, 7, 1795424636171, 'operator:anna', 'location', 2, 'create', '{"ID":2,"Code":"KLN","Name":"Köln","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', 'kXSIYElb', null),
(3, 8, 1795424637213, 'operator:anna', 'brand', 2, 'create', '{"ID":2,"Name":"Bolt","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', 'XqAYqbIG', null),
(3, 9, 1795424638345, 'operator:anna', 'brand', 3, 'create', '{"ID":3,"Name":"Cora","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', 'w3gZjMsG', null),
(3, 10, 1795424639645, 'operator:anna', 'brand', 3, 'delete', '{"ID":3,"Name":"Cora","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', 'sizozvYN', null);

insert into idempotency (site_id, key_id, name, digest, at, operation, id, revision, body) values
(1, 1, 'order-1', '8df075187ec6c5afb8ae3dd730f09d6c5d88b6dca7610a2bbdcb44af04589c2d', 1795317519635, 'create', 1, 1, '{"ID":1,"Name":"Acme","AccountNumber":"A1","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(3, 4, 'order-1', 'd884254efa922159381a6db765434f05a4921b3a0fc9bc95d0f317744dfefe1c', 1795424634588, 'create', 1, 1, '{"ID":1,"Name":"Acme","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}');

insert into key_uses (key_id, at) values
(1, 1795317521467),
(3, 1795424634730),
(4, 1795424634723);

insert into webhook_state (site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until) values
(3, 1, '57430c9d7a851c42a5c3e39744ae18b3', 'e99e2303de1e.10', 'jny83iLo', 0, 0, 0, 0, null, 0, 0, null, 0),
(4, 2, '57430c9d7a851c42a5c3e39744ae18b3', '0.0', '', 0, 0, 0, 0, null, 0, 0, null, 0);

insert into webhook_secrets (site_id, webhook_id, created_at, secret, until) values
(3, 1, 1795424642390, 'whsec_cGL8vLvRJRKctD3zCwlugfhrwc9o3y5NHY9/0cxgOqc=', null),
(4, 2, 1795424643574, 'whsec_NSr22uYDcRReYk8IFtK3xr6BOtYj/bAfoEXxIwPJj8M=', null);

insert into this_database (id, name) values
(1, '57430c9d7a851c42a5c3e39744ae18b3');

insert into credentials (digest, kind, operator_id, expires_at) values
('3f8b600a6b68840569ba6f26658729bab8dd8a637a65b6a0b428cb5910967272', 'link', 1, 1795425246326);

insert into last_backup (id, at) values
(1, 1795424650057);

pragma user_version = 1;
