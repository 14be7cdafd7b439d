-- What c58fcee stored: creates, updates, deletes, a restored record, an import, a revoked key, a response for an idempotency key.

insert into sites (id, epoch, revision, counters) values
(0, '4lhhvI2N', 6, '{"site":2,"key":3}'),
(1, 'SdOyY4ma', 12, '{"brand":3,"order-status":2,"location":2}'),
(2, '538LWMLm', 1, '{"brand":1}');

insert into records (site_id, resource, id, revision, body) values
(0, 'key', 1, 3, '{"ID":1,"Site":"1","Prefix":"sfk_HxKxlPdN","Digest":"c2cfc4ab46622aa535fc51c5859988a635ea89c2036ec5e4b6f919c2d0618cc3","Label":"till","Scope":"write","Rate":"","Created":"2026-11-22T03:18:36.896Z","Expires":"","Revoked":""}'),
(0, 'key', 2, 6, '{"ID":2,"Site":"1","Prefix":"sfk_3KTJkAmw","Digest":"d929f56e6a43525460b0dfb979b2addf026650035c5757876ca840460ebcc11a","Label":"gone","Scope":"read","Rate":"","Created":"2026-11-22T03:18:37.236Z","Expires":"2027-02-20T03:18:37.236Z","Revoked":"2026-11-22T03:18:38.328Z"}'),
(0, 'key', 3, 5, '{"ID":3,"Site":"2","Prefix":"sfk_uM3lq0Zb","Digest":"f3781dfeeaa1cd32ea46a66a090a7bcffcd97da32442d39c404461c4ac3a53e4","Label":"","Scope":"write","Rate":"","Created":"2026-11-22T03:18:37.670Z","Expires":"","Revoked":""}'),
(0, 'site', 1, 1, '{"ID":1,"Name":"shop","Hostnames":"shop.example","Default":"yes"}'),
(0, 'site', 2, 2, '{"ID":2,"Name":"garden","Hostnames":"garden.example","Default":""}'),
(1, 'brand', 1, 12, '{"ID":1,"Name":"Acme","AccountNumber":"A2","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(1, 'brand', 2, 4, '{"ID":2,"Name":"Bolt GmbH","AccountNumber":"","Telephone":{"Daytime":"0123","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 'brand', 3, 11, '{"ID":3,"Name":"Line\nbreak","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 'location', 1, 9, '{"ID":1,"Code":"ULM","Name":"Ulm","Manager":"","Email":"ulm@shop.example","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 'location', 2, 10, '{"ID":2,"Code":"KLN","Name":"Köln","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 'order-status', 1, 6, '{"ID":1,"Name":"Paid"}'),
(1, 'order-status', 2, 8, null),
(2, 'brand', 1, 1, '{"ID":1,"Name":"Rose","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}');

insert into journal (site_id, revision, at, actor, resource, id, operation, body) values
(0, 1, 1795317515714, 'operator', 'site', 1, 'create', '{"ID":1,"Name":"shop","Hostnames":"shop.example","Default":"yes"}'),
(0, 2, 1795317516285, 'operator', 'site', 2, 'create', '{"ID":2,"Name":"garden","Hostnames":"garden.example","Default":""}'),
(0, 3, 1795317516896, 'operator', 'key', 1, 'create', '{"ID":1,"Site":"1","Prefix":"sfk_HxKxlPdN","Digest":"c2cfc4ab46622aa535fc51c5859988a635ea89c2036ec5e4b6f919c2d0618cc3","Label":"till","Scope":"write","Rate":"","Created":"2026-11-22T03:18:36.896Z","Expires":"","Revoked":""}'),
(0, 4, 1795317517236, 'operator', 'key', 2, 'create', '{"ID":2,"Site":"1","Prefix":"sfk_3KTJkAmw","Digest":"d929f56e6a43525460b0dfb979b2addf026650035c5757876ca840460ebcc11a","Label":"gone","Scope":"read","Rate":"","Created":"2026-11-22T03:18:37.236Z","Expires":"2027-02-20T03:18:37.236Z","Revoked":""}'),
(0, 5, 1795317517670, 'operator', 'key', 3, 'create', '{"ID":3,"Site":"2","Prefix":"sfk_uM3lq0Zb","Digest":"f3781dfeeaa1cd32ea46a66a090a7bcffcd97da32442d39c404461c4ac3a53e4","Label":"","Scope":"write","Rate":"","Created":"2026-11-22T03:18:37.670Z","Expires":"","Revoked":""}'),
(0, 6, 1795317518328, 'operator', 'key', 2, 'update', '{"ID":2,"Site":"1","Prefix":"sfk_3KTJkAmw","Digest":"d929f56e6a43525460b0dfb979b2addf026650035c5757876ca840460ebcc11a","Label":"gone","Scope":"read","Rate":"","Created":"2026-11-22T03:18:37.236Z","Expires":"2027-02-20T03:18:37.236Z","Revoked":"2026-11-22T03:18:38.328Z"}'),
(1, 1, 1795317519635, 'sfk_HxKxlPdN', 'brand', 1, 'create', '{"ID":1,"Name":"Acme","AccountNumber":"A1","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(1, 2, 1795317519746, 'sfk_HxKxlPdN', 'brand', 2, 'create', '{"ID":2,"Name":"Bolt & Söhne","AccountNumber":"","Telephone":{"Daytime":"0123","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 3, 1795317519775, 'sfk_HxKxlPdN', 'brand', 3, 'create', '{"ID":3,"Name":"Line\nbreak","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 4, 1795317519855, 'sfk_HxKxlPdN', 'brand', 2, 'update', '{"ID":2,"Name":"Bolt GmbH","AccountNumber":"","Telephone":{"Daytime":"0123","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 5, 1795317519904, 'sfk_HxKxlPdN', 'brand', 3, 'delete', '{"ID":3,"Name":"Line\nbreak","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 6, 1795317519946, 'sfk_HxKxlPdN', 'order-status', 1, 'create', '{"ID":1,"Name":"Paid"}'),
(1, 7, 1795317519981, 'sfk_HxKxlPdN', 'order-status', 2, 'create', '{"ID":2,"Name":"Sent"}'),
(1, 8, 1795317520040, 'sfk_HxKxlPdN', 'order-status', 2, 'delete', '{"ID":2,"Name":"Sent"}'),
(1, 9, 1795317520747, 'operator', 'location', 1, 'create', '{"ID":1,"Code":"ULM","Name":"Ulm","Manager":"","Email":"ulm@shop.example","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 10, 1795317520747, 'operator', 'location', 2, 'create', '{"ID":2,"Code":"KLN","Name":"Köln","Manager":"","Email":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 11, 1795317521377, 'operator', 'brand', 3, 'restore', '{"ID":3,"Name":"Line\nbreak","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}'),
(1, 12, 1795317521467, 'sfk_HxKxlPdN', 'brand', 1, 'update', '{"ID":1,"Name":"Acme","AccountNumber":"A2","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}'),
(2, 1, 1795317521523, 'sfk_uM3lq0Zb', 'brand', 1, 'create', '{"ID":1,"Name":"Rose","AccountNumber":"","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"","County":"","Postcode":"","Country":""}}');

insert into idempotency (site_id, key_id, name, digest, at, operation, id, revision, body) values
(1, 1, 'order-1', '8df075187ec6c5afb8ae3dd730f09d6c5d88b6dca7610a2bbdcb44af04589c2d', 1795317519635, 'create', 1, 1, '{"ID":1,"Name":"Acme","AccountNumber":"A1","Telephone":{"Daytime":"","Evening":"","Mobile":""},"Address":{"Title":"Ms","Firstname":"","Surname":"","AddressLine1":"","AddressLine2":"","Town":"Ulm","County":"","Postcode":"","Country":""}}');

insert into key_uses (key_id, at) values
(1, 1795317521467),
(3, 1795317521523);
