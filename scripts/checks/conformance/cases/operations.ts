// Contract section 3: operations, and the headers of interface 4.5.

import { gzipSync } from "node:zlib";
import { sendBatch } from "../batches.ts";
import { casesOf } from "../case.ts";
import { completeRecord, shopResources } from "../records.ts";
import type { Answer } from "../requests.ts";
import { type CallOptions, NotTested, type Shop } from "../shop.ts";

const { both, once } = casesOf(3);
const paths = Object.keys(shopResources);
const writable = paths.filter((path) => path !== "locations");

export const operationCases = [
  both("list |", "a list has all the site's records, in ID order", async (shop) => {
    for (const path of paths) {
      const own = path === "locations" ? [] : [await shop.create(path), await shop.create(path)];
      const answer = await shop.call("GET", path);
      const ids = shop.list(answer, path).map(({ ID }) => ID as number);
      shop.same(
        answer,
        "IDs in order",
        ids,
        [...new Set(ids)].sort((a, b) => a - b),
      );
      shop.header(answer, "X-Total-Count", String(ids.length));
      for (const { id } of own) shop.holds(answer, `the record ${id}, which was created before`, ids.includes(id));
    }
  }),
  both("look up |", "a look-up gets a 200 with the record, or a 404 if the ID is unknown", async (shop) => {
    for (const path of writable) {
      const { id, record } = await shop.create(path);
      const answer = await shop.call("GET", `${path}/${id}`);
      shop.status(answer, 200);
      shop.same(answer, "the record", shop.record(answer, path), record);
      shop.problem(await shop.call("GET", `${path}/${2 ** 52}`), 404, /not-found/);
    }
  }),
  both("create |", "a create gets a 201 with the stored record and its Location", async (shop) => {
    for (const path of writable) {
      const { answer, record, id } = await shop.create(path, { Name: `${shop.mark} new` });
      shop.same(answer, "the record", record, completeRecord(path, { ID: id, Name: `${shop.mark} new` }));
      shop.header(answer, "Location", `/restapi/${path}/${id}.${shop.format}`);
      const read = await shop.call("GET", answer.headers.get("Location") ?? "");
      shop.same(read, "the record at Location", shop.record(read, path), record);
    }
  }),
  both("update |", "an update gets a 200 with the updated record, or a 404 if the ID is unknown", async (shop) => {
    for (const path of writable) {
      const { id, record } = await shop.create(path);
      const answer = await shop.call("PUT", `${path}/${id}`, { body: { Name: `${shop.mark} changed` } });
      shop.status(answer, 200);
      shop.same(answer, "the record", shop.record(answer, path), { ...record, Name: `${shop.mark} changed` });
      shop.problem(await shop.call("PUT", `${path}/${2 ** 52}`, { body: { Name: "x" } }), 404);
    }
  }),
  both("delete |", "a delete gets a 200 with the deleted record, and then 404s", async (shop) => {
    for (const path of writable) {
      const { id, record } = await shop.create(path);
      const answer = await shop.call("DELETE", `${path}/${id}`);
      shop.status(answer, 200);
      shop.same(answer, "the record", shop.record(answer, path), record);
      shop.problem(await shop.call("DELETE", `${path}/${id}`), 404);
      shop.problem(await shop.call("GET", `${path}/${id}`), 404);
    }
  }),
  both("HEAD does the same as GET", "HEAD is like GET, but without the body", async (shop) => {
    const { id } = await shop.create();
    for (const path of [
      `orderstatuses/${id}`,
      `orderstatuses?filter[ID][in]=${id}&limit=1`,
      `orderstatuses/${2 ** 52}`,
    ]) {
      const [get, head] = [await shop.call("GET", path), await shop.call("HEAD", path)];
      shop.status(head, get.status);
      shop.same(head, "the length of the body", head.length, 0);
      for (const name of ["Content-Type", "ETag", "X-Total-Count", "Link", "Cache-Control"])
        shop.header(head, name, get.headers.get(name));
      if (get.status === 200) shop.header(head, "Content-Length", get.headers.get("Content-Length"));
    }
  }),
  both(
    "OPTIONS returns a 204",
    "OPTIONS gets a 204 with Allow and the preflight headers, without a key",
    async (shop) => {
      const asked = [
        "X-API-AUTH",
        "If-Match",
        "If-None-Match",
        "Idempotency-Key",
        "X-HTTP-Method-Override",
        "Content-Type",
      ];
      const added = ["X-Request-Id", "Cache-Control", "X-Requested-With", "traceparent", "tracestate", "baggage"];
      const answer = await shop.call("OPTIONS", "brands", {
        key: null,
        headers: { Origin: "https://shop.example", "Access-Control-Request-Method": "PUT" },
      });
      shop.status(answer, 204);
      shop.header(answer, "Access-Control-Allow-Origin", "*");
      allows(shop, answer, ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
      for (const name of [...asked, ...added])
        shop.header(answer, "Access-Control-Allow-Headers", new RegExp(`(^|[ ,])${name}($|[ ,])`, "i"));
      for (const method of ["PUT", "PATCH", "DELETE"])
        shop.header(answer, "Access-Control-Allow-Methods", new RegExp(`\\b${method}\\b`));
    },
  ),
  both("PATCH does the same", "PUT and PATCH both change only the fields you send", async (shop) => {
    const { id, record } = await shop.create("brands", { AccountNumber: "1", Address: { Town: "Leeds" } });
    const expected = { ...record, AccountNumber: "2" };
    for (const [i, method] of ["PATCH", "PUT"].entries()) {
      const answer = await shop.call(method, `brands/${id}`, { body: { AccountNumber: String(i + 2) } });
      shop.status(answer, 200);
      shop.same(answer, "the record", shop.record(answer, "brands"), { ...expected, AccountNumber: String(i + 2) });
    }
  }),
  both(
    "POST with `X-HTTP-Method-Override",
    "X-HTTP-Method-Override replaces POST, and is ignored on other methods",
    async (shop) => {
      const { id, record } = await shop.create();
      const override = (method: string) => ({ headers: { "X-HTTP-Method-Override": method } });
      shop.status(await shop.call("GET", `orderstatuses/${id}`, override("DELETE")), 200);
      shop.status(await shop.call("GET", `orderstatuses/${id}`), 200);
      for (const method of ["PUT", "PATCH"]) {
        const body = { Name: `${shop.mark} ${method}` };
        const answer = await shop.call("POST", `orderstatuses/${id}`, { ...override(method), body });
        shop.status(answer, 200);
        shop.same(answer, "the record", shop.record(answer), { ...record, ...body });
      }
      shop.status(await shop.call("POST", `orderstatuses/${id}`, override("DELETE")), 200);
      shop.status(await shop.call("GET", `orderstatuses/${id}`), 404);
    },
  ),
  both("`X-HTTP-Method`, `X-Method-Override`", "similar headers get a 400 that names the right one", async (shop) => {
    const { id, record } = await shop.create();
    const says = /X-HTTP-Method-Override/;
    for (const name of ["X-HTTP-Method", "X-Method-Override"]) {
      const options = { headers: { [name]: "DELETE" } };
      const body = { Name: shop.mark };
      shop.problem(await shop.call("POST", "orderstatuses", { ...options, body }), 400, says);
      shop.problem(await shop.call("GET", `orderstatuses/${id}`, options), 400, says);
      shop.problem(await shop.call("PUT", `orderstatuses/${id}`, { ...options, body }), 400, says);
    }
    shop.problem(await shop.call("POST", `orderstatuses?_method=PUT&ID=${id}`, { body: { Name: "x" } }), 400, says);
    const answer = await shop.call("GET", `orderstatuses/${id}`);
    shop.same(answer, "the record", shop.record(answer), record);
  }),
  both(
    "`?dryRun=1` on a create",
    "a dry run gets the response the write would get, but stores nothing",
    async (shop) => {
      const { id, record, etag } = await shop.create();
      const path = `orderstatuses/${id}`;
      const writes: [string, string, CallOptions, number][] = [
        ["PUT", path, { body: { Name: `${shop.mark}b` } }, 200],
        ["DELETE", path, {}, 200],
        ["DELETE", `orderstatuses?ID=${id}`, { headers: { "If-Match": '"x"' } }, 412],
        ["PUT", path, { body: { Name: "" } }, 400],
        ["DELETE", `orderstatuses/${2 ** 52}`, {}, 404],
      ];
      for (const [method, at, options, status] of writes) {
        const dry = await shop.call(method, `${at}${at.includes("?") ? "&" : "?"}dryRun=1`, options);
        shop.status(dry, status);
        shop.header(dry, "X-Dry-Run", "1");
        const read = await shop.call("GET", path);
        shop.same(read, "the record", shop.record(read), record);
        shop.header(read, "ETag", etag);
      }
      const body = { Name: `${shop.mark}c` };
      const dry = await shop.call("PUT", `${path}?dryRun=1`, { body });
      const real = await shop.call("PUT", `${path}?dryRun=0`, { body });
      shop.same(real, "status and body", [real.status, real.text], [dry.status, dry.text]);
      shop.header(real, "X-Dry-Run", null);
      for (const value of ["true", "", "2", "yes"])
        shop.problem(await shop.call("DELETE", `orderstatuses/${id}?dryRun=${value}`), 400);
      shop.problem(await shop.call("GET", `orderstatuses/${id}?dryRun=1`), 400);
    },
  ),
  both("Dry runs ignore", "a dry run ignores Idempotency-Key", async (shop) => {
    const options = { body: { Name: shop.mark }, headers: { "Idempotency-Key": shop.mark } };
    shop.status(await shop.call("POST", "orderstatuses?dryRun=1", options), 201);
    const real = await shop.call("POST", "orderstatuses", options);
    shop.status(real, 201);
    shop.header(real, "Idempotency-Replayed", null);
    const later = await shop.call("POST", "orderstatuses?dryRun=1", options);
    shop.status(later, 201);
    shop.header(later, "Idempotency-Replayed", null);
    shop.same(later, "the number of records", (await shop.own()).length, 1);
  }),
  both("Batch requests and undo have dry runs", "a batch's dry run has X-Dry-Run", async (shop) => {
    const operation = { Method: "POST", Resource: "orderstatuses", Record: { Name: shop.mark } };
    const { answer } = await sendBatch(shop, [operation], "dryRun=1");
    shop.header(answer, "X-Dry-Run", "1");
  }),
  both(
    "A method that the path doesn't support",
    "a method the path doesn't have gets a 405 with Allow",
    async (shop) => {
      const { id } = await shop.create();
      const answer = await shop.call("POST", `orderstatuses/${id}`, { body: { Name: `${shop.mark} x` } });
      shop.problem(answer, 405, /method-not-allowed/);
      allows(shop, answer, ["GET", "HEAD", "PUT", "PATCH", "DELETE"]);
      allows(shop, await shop.call("DELETE", "locations/1"), ["GET", "HEAD"]);
    },
  ),
  both("CONNECT, or a method", "an unknown method gets a 501", async (shop) => {
    const line = `GREET /restapi/brands.${shop.format} HTTP/1.1`;
    const answer = await shop.firstOfBytes([line, "Host: $HOST", "X-API-AUTH: $KEY", "Content-Length: 0"]);
    shop.problem(answer, 501, /not-implemented/);
  }),
  both("CONNECT, or a method", "CONNECT gets a 501, and the connection closes", async (shop) => {
    const lines = ["CONNECT shop.example:443 HTTP/1.1", "Host: $HOST"].join("\r\n");
    const next = ["GET /restapi/nothing.json HTTP/1.1", "Host: $HOST"];
    const answers = await shop.bytes([lines, "", ...next], "", { count: 2 });
    const [answer = shop.fail(undefined, "501")] = answers;
    shop.problem(answer, 501, /not-implemented/);
    shop.same(answer, "the number of responses", answers.length, 1);
  }),
  once("`OPTIONS *`", "OPTIONS * gets a 204 with Allow", async (shop) => {
    const answer = await shop.firstOfBytes(["OPTIONS * HTTP/1.1", "Host: $HOST"]);
    shop.status(answer, 204);
    allows(shop, answer, ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
  }),
  once("The server speaks HTTP/1.0 and HTTP/1.1", "other HTTP versions get a 400", async (shop) => {
    const send = (version: string) =>
      shop.firstOfBytes([`GET /restapi/brands.json?limit=1 HTTP/${version}`, "Host: $HOST", "X-API-AUTH: $KEY"]);
    for (const version of ["1.0", "1.1", "1.2", "1.9"]) shop.status(await send(version), 200);
    for (const version of ["0.9", "2.0", "1.10", "1"]) shop.problem(await send(version), 400, /bad-request/);
  }),
  once("An HTTP/1.1 request without a `Host`", "a missing or empty Host gets a 400", async (shop) => {
    const line = "GET /restapi/brands.json?limit=1 HTTP/1.1";
    for (const host of [[], ["Host:"], ["Host: \t"]])
      shop.problem(await shop.firstOfBytes([line, ...host, "X-API-AUTH: $KEY"]), 400, /bad-request/);
    const absolute = "GET http://$HOST/restapi/brands.json?limit=1 HTTP/1.1";
    shop.status(await shop.firstOfBytes([absolute, "Host: other.example", "X-API-AUTH: $KEY"]), 200);
  }),
  both(
    "A fragment, non-ASCII bytes",
    "a malformed target gets a 400, but raw UTF-8 in the query is fine",
    async (shop) => {
      const list = `/restapi/brands.${shop.format}`;
      const send = (target: string, method = "GET") =>
        shop.firstOfBytes([`${method} ${target} HTTP/1.1`, "Host: $HOST", "X-API-AUTH: $KEY"]);
      for (const target of [`${list}#a`, `${list}?filter[Name]=C#`, `/restapi/é.${shop.format}`, "*"])
        shop.problem(await send(target), 400, /bad-request/);
      shop.status(await send(`${list}?filter[Name]=é`), 200);
    },
  ),
  both(
    "An unknown path",
    "an unknown path gets a 404 that suggests the nearest one, never a redirect",
    async (shop) => {
      shop.problem(await shop.call("GET", "brand"), 404, new RegExp(`/restapi/brands\\.${shop.format}`));
      for (const path of [`/restapi//brands.${shop.format}`, `/restapi/brands.${shop.format}/`, "/restapi/brands"])
        shop.status(await shop.call("GET", path), 404);
      const line = `GET /restapi/x/../brands.${shop.format} HTTP/1.1`;
      shop.status(await shop.firstOfBytes([line, "Host: $HOST", "X-API-AUTH: $KEY"]), 404);
    },
  ),
  both("Brands and order statuses have all five", "writing a location gets a 405", async (shop) => {
    for (const [method, path] of [
      ["POST", "locations"],
      ["PUT", "locations/1"],
      ["DELETE", "locations/1"],
      ["PUT", "locations"],
    ])
      shop.problem(await shop.call(method as string, path as string, { body: { Name: "x" } }), 405);
  }),
  both("Brands and order statuses have all five", "locations can be listed and looked up", async (shop) => {
    const list = await shop.call("GET", "locations?limit=1");
    const [location] = shop.list(list, "locations");
    if (!location) throw new NotTested("the site has no location");
    const answer = await shop.call("GET", `locations/${location.ID}`);
    shop.status(answer, 200);
    shop.same(answer, "the location", shop.record(answer, "locations"), location);
    shop.same(answer, "its fields", location, completeRecord("locations", location));
  }),
  both("Successful reads have the headers", "reads have the headers of interface 4.5, and an ETag", async (shop) => {
    const { id } = await shop.create();
    for (const path of [...paths, `orderstatuses/${id}`]) {
      const answer = await shop.call("GET", path);
      shop.status(answer, 200);
      uncacheable(shop, answer);
      shop.header(answer, "Content-Type", `application/${shop.format}; charset=utf-8`);
      shop.header(answer, "Content-Length", String(answer.length));
      shop.header(answer, "Date", /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
      shop.header(answer, "ETag", /^"[^"]+"$/);
    }
  }),
  both(
    "Every response under `/restapi`",
    "every response is uncacheable and open to scripts, including errors",
    async (shop) => {
      const answers = [
        await shop.call("GET", "orderstatuses?limit=1"),
        await shop.call("GET", "orderstatuses", { key: null }),
        await shop.call("GET", "nothing"),
        await shop.call("PUT", "locations"),
        await shop.call("POST", "brands", { body: "not a record" }),
        (await shop.create()).answer,
      ];
      for (const answer of answers) uncacheable(shop, answer);
    },
  ),
  both("If the request has an `Origin`", "scripts may read the response headers", async (shop) => {
    const answer = await shop.call("GET", "orderstatuses?limit=1", { headers: { Origin: "https://shop.example" } });
    for (const name of ["ETag", "Link", "Location", "X-Request-Id", "X-Sandbox", "X-Total-Count", "Retry-After"])
      shop.header(answer, "Access-Control-Expose-Headers", new RegExp(`(^|[ ,])${name}($|[ ,])`, "i"));
  }),
  both("Your own `X-Request-Id`", "your own X-Request-Id is used, unless it contains an API key", async (shop) => {
    const send = (id: string) => shop.call("GET", "orderstatuses?limit=1", { headers: { "X-Request-Id": id } });
    for (const id of ["a", "Az09_.~+=@-", "x".repeat(128)]) shop.header(await send(id), "X-Request-Id", id);
    for (const id of ["x".repeat(129), "a b", "a/b", `x-${shop.target.key}`]) {
      const answer = await send(id);
      shop.status(answer, 200);
      shop.header(answer, "X-Request-Id", /^[\w.~+=@-]{1,128}$/);
      shop.holds(answer, `another X-Request-Id than ${id.slice(0, 4)}…`, answer.headers.get("X-Request-Id") !== id);
    }
  }),
  both("Long lists, feed pages", "long responses use the encoding that Accept-Encoding prefers", async (shop) => {
    for (let i = 0; i < 8; i++) await shop.create("brands", { Name: `${shop.mark} ${"x".repeat(200)}` });
    for (const [accepted, coding] of [
      ["gzip;q=0.5, zstd;q=0.1", "gzip"],
      ["gzip;q=0.1, zstd;q=0.5", "zstd"],
      ["gzip;q=0.1, identity;q=0.5", null],
      ["zstd;q=2, gzip;q=0.1", "gzip"],
      ["*", "gzip"],
      ["*;q=0", null],
    ] as const) {
      const answer = await shop.call("HEAD", "brands", { headers: { "Accept-Encoding": accepted } });
      shop.header(answer, "Content-Encoding", coding);
      shop.header(answer, "Vary", /Accept-Encoding/);
    }
  }),
  both("Only the path's ending", "only the path's ending sets the format, not Accept or Content-Type", async (shop) => {
    const other = shop.format === "json" ? "application/xml" : "application/json";
    const answer = await shop.call("POST", "orderstatuses", {
      body: { Name: shop.mark },
      headers: { Accept: other, "Content-Type": other },
    });
    shop.status(answer, 201);
    shop.header(answer, "Content-Type", `application/${shop.format}; charset=utf-8`);
    shop.same(answer, "Name", shop.record(answer).Name, shop.mark);
  }),
  both("A charset other than", "a charset other than UTF-8 gets a 415", async (shop) => {
    const send = (charset: string) =>
      shop.call("POST", "orderstatuses", {
        body: { Name: shop.mark },
        headers: { "Content-Type": `application/${shop.format}; charset=${charset}` },
      });
    shop.problem(await send("iso-8859-1"), 415, /unsupported-media-type/);
    shop.status(await send("UTF-8"), 201);
  }),
  both(
    "Request bodies can be compressed",
    "a request body can be gzipped, and the limits apply to its content",
    async (shop) => {
      const send = (body: string | Uint8Array<ArrayBuffer>, coding = "gzip") =>
        shop.call("POST", "orderstatuses", { body, headers: { "Content-Encoding": coding } });
      const valid =
        shop.format === "json" ? `{"Name":"${shop.mark}"}` : `<OrderStatus><Name>${shop.mark}</Name></OrderStatus>`;
      const bytes = Uint8Array.from(gzipSync(valid));
      for (const coding of ["gzip", "x-gzip", "GZIP"]) {
        const answer = await send(bytes, coding);
        shop.status(answer, 201);
        shop.same(answer, "Name", shop.record(answer).Name, shop.mark);
      }
      for (const invalid of [valid, bytes.subarray(0, -1), Uint8Array.from([...bytes, 0x20])])
        shop.problem(await send(invalid), 400);
      shop.problem(await send(Uint8Array.from(gzipSync(" ".repeat(1024 * 1024 + 1)))), 413, /too-large/);
    },
  ),
  both("Request bodies can be compressed", "any other coding gets a 415", async (shop) => {
    const send = (coding: string) =>
      shop.call("POST", "orderstatuses", { body: { Name: shop.mark }, headers: { "Content-Encoding": coding } });
    for (const coding of ["br", "deflate", "gzip, gzip"]) {
      const answer = await send(coding);
      shop.problem(answer, 415, /unsupported-media-type/);
      shop.header(answer, "Accept-Encoding", "gzip");
    }
    for (const coding of ["identity", "utf-8"]) shop.status(await send(coding), 201);
  }),
  both("A byte order mark is skipped", "a byte order mark is skipped, and invalid UTF-8 gets a 400", async (shop) => {
    const valid =
      shop.format === "json" ? `{"Name":"${shop.mark}"}` : `<OrderStatus><Name>${shop.mark}</Name></OrderStatus>`;
    const answer = await shop.call("POST", "orderstatuses", { body: `\uFEFF${valid}` });
    shop.status(answer, 201);
    shop.same(answer, "Name", shop.record(answer).Name, shop.mark);
    const invalid = Uint8Array.from(Buffer.from(valid.replace(shop.mark, `${shop.mark}\xFF`), "latin1"));
    shop.problem(await shop.call("POST", "orderstatuses", { body: invalid }), 400);
  }),
  once("Documentation can be cached", "documentation may be cached", async (shop) => {
    const answer = await shop.call("GET", "/docs", { key: null });
    shop.status(answer, 200);
    shop.holds(answer, "no Cache-Control: no-store", !/no-store/.test(answer.headers.get("Cache-Control") ?? ""));
  }),
];

/** Checks the headers that every response under /restapi has. */
function uncacheable(shop: Shop, answer: Answer): void {
  shop.header(answer, "Cache-Control", "no-cache, no-store, must-revalidate");
  shop.header(answer, "Pragma", "no-cache");
  shop.header(answer, "Expires", "-1");
  shop.header(answer, "Access-Control-Allow-Origin", "*");
  shop.header(answer, "X-Request-Id", /^[\w.~+=@-]{1,128}$/);
  shop.header(answer, "X-Content-Type-Options", "nosniff");
}

function allows(shop: Shop, answer: Answer, methods: readonly string[]): void {
  const allowed = (answer.headers.get("Allow") ?? "").split(/\s*,\s*/);
  for (const method of methods) shop.holds(answer, `Allow with ${method}, not ${allowed}`, allowed.includes(method));
}
