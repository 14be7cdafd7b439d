-- A PostgreSQL database that commit 271c903 has opened and written to. Commit c58fcee had made it, with the sites shop and garden.

create table sites (
  id bigint not null,
  epoch text not null,
  revision bigint not null,
  counters text not null,
  floor bigint,
  last_at bigint,
  live text,
  live_revision bigint,
  primary key (id)
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
  run text,
  before text,
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

create table key_uses (
  key_id bigint not null,
  at bigint not null,
  primary key (key_id)
);

create table storefront_schema (
  id bigint not null,
  version bigint not null,
  views text not null,
  primary key (id)
);

create table webhook_state (
  site_id bigint not null,
  webhook_id bigint not null,
  home text not null,
  cursor text not null,
  epoch text not null,
  first_revision bigint not null,
  last_revision bigint not null,
  rewinds bigint not null,
  failures bigint not null,
  failing_since bigint,
  next_at bigint not null,
  is_gone bigint not null,
  holder text,
  lease_until bigint not null,
  primary key (site_id, webhook_id)
);

create table webhook_secrets (
  site_id bigint not null,
  webhook_id bigint not null,
  created_at bigint not null,
  secret text not null,
  until bigint,
  primary key (site_id, webhook_id, created_at)
);

create table webhook_attempts (
  site_id bigint not null,
  webhook_id bigint not null,
  number bigint not null,
  at bigint not null,
  status bigint,
  milliseconds bigint not null,
  fault text,
  primary key (site_id, webhook_id, number)
);

create table this_database (
  id bigint not null,
  name text not null,
  primary key (id)
);

create table credentials (
  digest text not null,
  kind text not null,
  operator_id bigint not null,
  expires_at bigint not null,
  primary key (digest)
);

create table last_backup (
  id bigint not null,
  at bigint not null,
  primary key (id)
);

CREATE INDEX idempotency_at ON public.idempotency USING btree (site_id, at);

create view "brand" as SELECT site_id,
    id,
    revision,
    COALESCE(((body)::json #>> '{Name}'::text[]), ''::text) AS name,
    COALESCE(((body)::json #>> '{AccountNumber}'::text[]), ''::text) AS account_number,
    COALESCE(((body)::json #>> '{Telephone,Daytime}'::text[]), ''::text) AS telephone_daytime,
    COALESCE(((body)::json #>> '{Telephone,Evening}'::text[]), ''::text) AS telephone_evening,
    COALESCE(((body)::json #>> '{Telephone,Mobile}'::text[]), ''::text) AS telephone_mobile,
    COALESCE(((body)::json #>> '{Address,Title}'::text[]), ''::text) AS address_title,
    COALESCE(((body)::json #>> '{Address,Firstname}'::text[]), ''::text) AS address_firstname,
    COALESCE(((body)::json #>> '{Address,Surname}'::text[]), ''::text) AS address_surname,
    COALESCE(((body)::json #>> '{Address,AddressLine1}'::text[]), ''::text) AS address_address_line1,
    COALESCE(((body)::json #>> '{Address,AddressLine2}'::text[]), ''::text) AS address_address_line2,
    COALESCE(((body)::json #>> '{Address,Town}'::text[]), ''::text) AS address_town,
    COALESCE(((body)::json #>> '{Address,County}'::text[]), ''::text) AS address_county,
    COALESCE(((body)::json #>> '{Address,Postcode}'::text[]), ''::text) AS address_postcode,
    COALESCE(((body)::json #>> '{Address,Country}'::text[]), ''::text) AS address_country
   FROM records
  WHERE ((resource = 'brand'::text) AND (body IS NOT NULL));

create view "key" as SELECT site_id,
    id,
    revision,
    COALESCE(((body)::json #>> '{Site}'::text[]), ''::text) AS site,
    COALESCE(((body)::json #>> '{Prefix}'::text[]), ''::text) AS prefix,
    COALESCE(((body)::json #>> '{Digest}'::text[]), ''::text) AS digest,
    COALESCE(((body)::json #>> '{Label}'::text[]), ''::text) AS label,
    COALESCE(((body)::json #>> '{Scope}'::text[]), ''::text) AS scope,
    COALESCE(((body)::json #>> '{Rate}'::text[]), ''::text) AS rate,
    COALESCE(((body)::json #>> '{Created}'::text[]), ''::text) AS created,
    COALESCE(((body)::json #>> '{Expires}'::text[]), ''::text) AS expires,
    COALESCE(((body)::json #>> '{Revoked}'::text[]), ''::text) AS revoked
   FROM records
  WHERE ((resource = 'key'::text) AND (body IS NOT NULL));

create view "location" as SELECT site_id,
    id,
    revision,
    COALESCE(((body)::json #>> '{Code}'::text[]), ''::text) AS code,
    COALESCE(((body)::json #>> '{Name}'::text[]), ''::text) AS name,
    COALESCE(((body)::json #>> '{Manager}'::text[]), ''::text) AS manager,
    COALESCE(((body)::json #>> '{Email}'::text[]), ''::text) AS email,
    COALESCE(((body)::json #>> '{Telephone,Daytime}'::text[]), ''::text) AS telephone_daytime,
    COALESCE(((body)::json #>> '{Telephone,Evening}'::text[]), ''::text) AS telephone_evening,
    COALESCE(((body)::json #>> '{Telephone,Mobile}'::text[]), ''::text) AS telephone_mobile,
    COALESCE(((body)::json #>> '{Address,Title}'::text[]), ''::text) AS address_title,
    COALESCE(((body)::json #>> '{Address,Firstname}'::text[]), ''::text) AS address_firstname,
    COALESCE(((body)::json #>> '{Address,Surname}'::text[]), ''::text) AS address_surname,
    COALESCE(((body)::json #>> '{Address,AddressLine1}'::text[]), ''::text) AS address_address_line1,
    COALESCE(((body)::json #>> '{Address,AddressLine2}'::text[]), ''::text) AS address_address_line2,
    COALESCE(((body)::json #>> '{Address,Town}'::text[]), ''::text) AS address_town,
    COALESCE(((body)::json #>> '{Address,County}'::text[]), ''::text) AS address_county,
    COALESCE(((body)::json #>> '{Address,Postcode}'::text[]), ''::text) AS address_postcode,
    COALESCE(((body)::json #>> '{Address,Country}'::text[]), ''::text) AS address_country
   FROM records
  WHERE ((resource = 'location'::text) AND (body IS NOT NULL));

create view "operator" as SELECT site_id,
    id,
    revision,
    COALESCE(((body)::json #>> '{Name}'::text[]), ''::text) AS name,
    COALESCE(((body)::json #>> '{Sites}'::text[]), ''::text) AS sites,
    COALESCE(((body)::json #>> '{Created}'::text[]), ''::text) AS created
   FROM records
  WHERE ((resource = 'operator'::text) AND (body IS NOT NULL));

create view "order_status" as SELECT site_id,
    id,
    revision,
    COALESCE(((body)::json #>> '{Name}'::text[]), ''::text) AS name
   FROM records
  WHERE ((resource = 'order-status'::text) AND (body IS NOT NULL));

create view "site" as SELECT site_id,
    id,
    revision,
    COALESCE(((body)::json #>> '{Name}'::text[]), ''::text) AS name,
    COALESCE(((body)::json #>> '{Hostnames}'::text[]), ''::text) AS hostnames,
    COALESCE(((body)::json #>> '{Default}'::text[]), ''::text) AS "default",
    COALESCE(((body)::json #>> '{Suspended}'::text[]), ''::text) AS suspended,
    COALESCE(((body)::json #>> '{Importing}'::text[]), ''::text) AS importing
   FROM records
  WHERE ((resource = 'site'::text) AND (body IS NOT NULL));

create view "webhook" as SELECT site_id,
    id,
    revision,
    COALESCE(((body)::json #>> '{Site}'::text[]), ''::text) AS site,
    COALESCE(((body)::json #>> '{URL}'::text[]), ''::text) AS url,
    COALESCE(((body)::json #>> '{Resources}'::text[]), ''::text) AS resources,
    COALESCE(((body)::json #>> '{Created}'::text[]), ''::text) AS created,
    COALESCE(((body)::json #>> '{Paused}'::text[]), ''::text) AS paused,
    COALESCE(((body)::json #>> '{Reason}'::text[]), ''::text) AS reason
   FROM records
  WHERE ((resource = 'webhook'::text) AND (body IS NOT NULL));

insert into sites (id, epoch, revision, counters, floor, last_at, live, live_revision) values
(0, '4lhhvI2N', 14, '{"site":5,"key":4,"webhook":2,"operator":1}', null, 1795424675570, '{"key":{"count":4,"revision":10},"site":{"count":4,"revision":14},"webhook":{"count":2,"revision":12},"operator":{"count":1,"revision":13}}', 14),
(1, 'SdOyY4ma', 12, '{"brand":3,"order-status":2,"location":2}', null, 1795317521467, null, null),
(2, '538LWMLm', 2, '{"brand":1}', null, 1795424662397, '{"brand":{"count":1,"revision":2}}', 2),
(3, 'Rx8PYgFA', 10, '{"brand":3,"order-status":1,"location":2}', 2, 1795424668105, '{"brand":{"count":2,"revision":10},"order-status":{"count":1,"revision":4},"location":{"count":2,"revision":7}}', 10),
(5, '', 0, '{}', 0, 0, '{}', 0);

insert into records (site_id, resource, id, revision, body) values
(0, 'key', 1, 3, '{"ID":1,"Site":"1","Prefix":"sfk_HxKxlPdN","Digest":"c2cfc4ab46622aa535fc51c5859988a635ea89c2036ec5e4b6f919c2d0618cc3","Label":"till","Scope":"write","Rate":"","Created":"2026-11-22T03:18:36.896Z","Expires":"","Revoked":""}'),
(0, 'key', 2, 6, '{"ID":2,"Site":"1","Prefix":"sfk_3KTJkAmw","Digest":"d929f56e6a43525460b0dfb979b2addf026650035c5757876ca840460ebcc11a","Label":"gone","Scope":"read","Rate":"","Created":"2026-11-22T03:18:37.236Z","Expires":"2027-02-20T03:18:37.236Z","Revoked":"2026-11-22T03:18:38.328Z"}'),
(0, 'key', 3, 5, '{"ID":3,"Site":"2","Prefix":"sfk_uM3lq0Zb","Digest":"f3781dfeeaa1cd32ea46a66a090a7bcffcd97da32442d39c404461c4ac3a53e4","Label":"","Scope":"write","Rate":"","Created":"2026-11-22T03:18:37.670Z","Expires":"","Revoked":""}'),
(0, 'key', 4, 10, '{"ID":4,"Site":"3","Prefix":"sfk_chcuOFld","Digest":"b6e6a081e7f9b9224718b02efa775a39013a469dbc89afb9b9e4685573191fd4","Label":"till","Scope":"write","Rate":"","Created":"2026-11-23T09:04:21.858Z","Expires":"","Revoked":""}'),
(0, 'operator', 1, 13, '{"ID":1,"Name":"ben","Sites":"","Created":"2026-11-23T09:04:33.335Z"}'),
(0, 'site', 1, 1, '{"ID":1,"Name":"shop","Hostnames":"shop.example","Default":"yes"}'),
(0, 'site', 2, 2, '{"ID":2,"Name":"garden","Hostnames":"garden.example","Default":""}'),
(0, 'site', 3, 7, '{"ID":3,"Name":"market","Hostnames":"market.example","Default":"","Suspended":"","Importing":""}'),
(0, 'site', 4, 8, '{"ID":4,"Name":"empty","Hostnames":"empty.example","Default":"","Suspended":"","Importing":""}'),
(0, 'site', 5, 14, null),
(0, 'webhook', 1, 11, '{"ID":1,"Site":"3","URL":"https://erp.example/market","Resources":"","Created":"2026-11-23T09:04:30.627Z","Paused":"","Reason":""}'),
(0, 'webhook', 2, 12, '{"ID":2,"Site":"4","URL":"https://erp.example/empty","Resources":"","Created":"2026-11-23T09:04:32.035Z","Paused":"","Reason":""}'),
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
(0, 7, 1795424657842, 'operator:anna', 'site', 3, 'create', '{"ID":3,"Name":"market","Hostnames":"market.example","Default":"","Suspended":"","Importing":""}', 'LOT2YvSI', null),
(0, 8, 1795424659227, 'operator:anna', 'site', 4, 'create', '{"ID":4,"Name":"empty","Hostnames":"empty.example","Default":"","Suspended":"","Importing":""}', 'X8Gy4er7', null),
(0, 9, 1795424660717, 'operator:anna', 'site', 5, 'create', '{"ID":5,"Name":"gone","Hostnames":"gone.example","Default":"","Suspended":"","Importing":""}', 'YRs3HfyC', null),
(0, 10, 1795424661858, 'operator:anna', 'key', 4, 'create', '{"ID":4,"Site":"3","Prefix":"sfk_chcuOFld","Digest":"b6e6a081e7f9b9224718b02efa775a39013a469dbc89afb9b9e4685573191fd4","Label":"till","Scope":"write","Rate":"","Created":"2026-11-23T09:04:21.858Z","Expires":"","Revoked":""}', '7AMMQmEA', null),
(0, 11, 1795424670627, 'operator:anna', 'webhook', 1, 'create', '{"ID":1,"Site":"3","URL":"https://erp.example/market","Resources":"","Created":"2026-11-23T09:04:30.627Z","Paused":"","Reason":""}', 'jUMYKzB7', null),
(0, 12, 1795424672035, 'operator:anna', 'webhook', 2, 'create', '{"ID":2,"Site":"4","URL":"https://erp.example/empty","Resources":"","Created":"2026-11-23T09:04:32.035Z","Paused":"","Reason":""}', 'CZjfgbeu', null),
(0, 13, 1795424673335, 'operator:anna', 'operator', 1, 'create', '{"ID":1,"Name":"ben","Sites":"","Created":"2026-11-23T09:04:33.335Z"}', 'p5ug8UFO', null),
(0, 14, 1795424675570, 'operator:anna', 'site', 5, 'delete', '{"ID":5,"Name":"gone","Hostnames":"gone.example","Default":"","Suspended":"","Importing":""}', 'rn3wmUNu', null),
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
(2, 2, 1795424662397, 'sfk_uM3lq0Zb', 'brand', 1, 'update', '{"ID":1,"Name":"Rose 2","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, '{"ID":1,"Name":"Rose","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(3, 3, 1795424662363, 'sfk_chcuOFld', 'brand', 1, 'update', '{"ID":1,"Name":"Acme","AccountNumber":"A2","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}', null, '{"ID":1,"Name":"Acme","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(3, 4, 1795424662373, 'sfk_chcuOFld', 'order-status', 1, 'create', '{"ID":1,"Name":"Paid"}', null, null),
(3, 5, 1795424662378, 'sfk_chcuOFld', 'brand', 2, 'delete', '{"ID":2,"Name":"Bolt","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', null, null),
(3, 6, 1795424663736, 'operator:anna', 'location', 1, 'create', '{"ID":1,"Code":"ULM","Name":"Ulm","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', '99sURnrx', null),
(3, 7, 1795424663736, 'operator:anna', 'location', 2, 'create', '{"ID":2,"Code":"KLN","Name":"Köln","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', '99sURnrx', null),
(3, 8, 1795424665403, 'operator:anna', 'brand', 2, 'create', '{"ID":2,"Name":"Bolt","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', 'GGTTiVMU', null),
(3, 9, 1795424667129, 'operator:anna', 'brand', 3, 'create', '{"ID":3,"Name":"Cora","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', 'kSnIHR6R', null),
(3, 10, 1795424668105, 'operator:anna', 'brand', 3, 'delete', '{"ID":3,"Name":"Cora","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}', 'fP6mjE4E', null);

insert into idempotency (site_id, key_id, name, digest, at, operation, id, revision, body) values
(1, 1, 'order-1', '8df075187ec6c5afb8ae3dd730f09d6c5d88b6dca7610a2bbdcb44af04589c2d', 1795317519635, 'create', 1, 1, '{"ID":1,"Name":"Acme","AccountNumber":"A1","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(3, 4, 'order-1', 'd884254efa922159381a6db765434f05a4921b3a0fc9bc95d0f317744dfefe1c', 1795424662299, 'create', 1, 1, '{"ID":1,"Name":"Acme","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}');

insert into key_uses (key_id, at) values
(1, 1795317521467),
(3, 1795424662397),
(4, 1795424662383);

insert into storefront_schema (id, version, views) values
(1, 1, 'create or replace view "brand" as select site_id, id, revision, coalesce(body::json #>> ''{Name}'', '''') as "name", coalesce(body::json #>> ''{AccountNumber}'', '''') as "account_number", coalesce(body::json #>> ''{Telephone,Daytime}'', '''') as "telephone_daytime", coalesce(body::json #>> ''{Telephone,Evening}'', '''') as "telephone_evening", coalesce(body::json #>> ''{Telephone,Mobile}'', '''') as "telephone_mobile", coalesce(body::json #>> ''{Address,Title}'', '''') as "address_title", coalesce(body::json #>> ''{Address,Firstname}'', '''') as "address_firstname", coalesce(body::json #>> ''{Address,Surname}'', '''') as "address_surname", coalesce(body::json #>> ''{Address,AddressLine1}'', '''') as "address_address_line1", coalesce(body::json #>> ''{Address,AddressLine2}'', '''') as "address_address_line2", coalesce(body::json #>> ''{Address,Town}'', '''') as "address_town", coalesce(body::json #>> ''{Address,County}'', '''') as "address_county", coalesce(body::json #>> ''{Address,Postcode}'', '''') as "address_postcode", coalesce(body::json #>> ''{Address,Country}'', '''') as "address_country" from records where resource = ''brand'' and body is not null
create or replace view "order_status" as select site_id, id, revision, coalesce(body::json #>> ''{Name}'', '''') as "name" from records where resource = ''order-status'' and body is not null
create or replace view "location" as select site_id, id, revision, coalesce(body::json #>> ''{Code}'', '''') as "code", coalesce(body::json #>> ''{Name}'', '''') as "name", coalesce(body::json #>> ''{Manager}'', '''') as "manager", coalesce(body::json #>> ''{Email}'', '''') as "email", coalesce(body::json #>> ''{Telephone,Daytime}'', '''') as "telephone_daytime", coalesce(body::json #>> ''{Telephone,Evening}'', '''') as "telephone_evening", coalesce(body::json #>> ''{Telephone,Mobile}'', '''') as "telephone_mobile", coalesce(body::json #>> ''{Address,Title}'', '''') as "address_title", coalesce(body::json #>> ''{Address,Firstname}'', '''') as "address_firstname", coalesce(body::json #>> ''{Address,Surname}'', '''') as "address_surname", coalesce(body::json #>> ''{Address,AddressLine1}'', '''') as "address_address_line1", coalesce(body::json #>> ''{Address,AddressLine2}'', '''') as "address_address_line2", coalesce(body::json #>> ''{Address,Town}'', '''') as "address_town", coalesce(body::json #>> ''{Address,County}'', '''') as "address_county", coalesce(body::json #>> ''{Address,Postcode}'', '''') as "address_postcode", coalesce(body::json #>> ''{Address,Country}'', '''') as "address_country" from records where resource = ''location'' and body is not null
create or replace view "site" as select site_id, id, revision, coalesce(body::json #>> ''{Name}'', '''') as "name", coalesce(body::json #>> ''{Hostnames}'', '''') as "hostnames", coalesce(body::json #>> ''{Default}'', '''') as "default", coalesce(body::json #>> ''{Suspended}'', '''') as "suspended", coalesce(body::json #>> ''{Importing}'', '''') as "importing" from records where resource = ''site'' and body is not null
create or replace view "key" as select site_id, id, revision, coalesce(body::json #>> ''{Site}'', '''') as "site", coalesce(body::json #>> ''{Prefix}'', '''') as "prefix", coalesce(body::json #>> ''{Digest}'', '''') as "digest", coalesce(body::json #>> ''{Label}'', '''') as "label", coalesce(body::json #>> ''{Scope}'', '''') as "scope", coalesce(body::json #>> ''{Rate}'', '''') as "rate", coalesce(body::json #>> ''{Created}'', '''') as "created", coalesce(body::json #>> ''{Expires}'', '''') as "expires", coalesce(body::json #>> ''{Revoked}'', '''') as "revoked" from records where resource = ''key'' and body is not null
create or replace view "webhook" as select site_id, id, revision, coalesce(body::json #>> ''{Site}'', '''') as "site", coalesce(body::json #>> ''{URL}'', '''') as "url", coalesce(body::json #>> ''{Resources}'', '''') as "resources", coalesce(body::json #>> ''{Created}'', '''') as "created", coalesce(body::json #>> ''{Paused}'', '''') as "paused", coalesce(body::json #>> ''{Reason}'', '''') as "reason" from records where resource = ''webhook'' and body is not null
create or replace view "operator" as select site_id, id, revision, coalesce(body::json #>> ''{Name}'', '''') as "name", coalesce(body::json #>> ''{Sites}'', '''') as "sites", coalesce(body::json #>> ''{Created}'', '''') as "created" from records where resource = ''operator'' and body is not null');

insert into webhook_state (site_id, webhook_id, home, cursor, epoch, first_revision, last_revision, rewinds, failures, failing_since, next_at, is_gone, holder, lease_until) values
(3, 1, '13cffa384ffaf4dac7c4f5038af4fd43', 'd0e1280c06f4.10', 'Rx8PYgFA', 0, 0, 0, 0, null, 0, 0, null, 0),
(4, 2, '13cffa384ffaf4dac7c4f5038af4fd43', '0.0', '', 0, 0, 0, 0, null, 0, 0, null, 0);

insert into webhook_secrets (site_id, webhook_id, created_at, secret, until) values
(3, 1, 1795424670627, 'whsec_o5d3ZHRJ+lyjg1C0QwFT3GStJ799n9Pjl595ecAUDms=', null),
(4, 2, 1795424672035, 'whsec_HaV+5XkWyZu5VVNDS47Y0TZLp5x40bSfYx8CkEtX50o=', null);

insert into this_database (id, name) values
(1, '13cffa384ffaf4dac7c4f5038af4fd43');

insert into credentials (digest, kind, operator_id, expires_at) values
('125a1084992bf2292cb11caa6737daa607dffa8fe9da102448fcf1fade93d0ef', 'link', 1, 1795425274521);

insert into last_backup (id, at) values
(1, 1795424678449);
