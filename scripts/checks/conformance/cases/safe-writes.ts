// Contract section 7: safe writes.

import { casesOf } from "../case.ts";
import type { Format } from "../records.ts";
import type { CallOptions, Shop } from "../shop.ts";

const { both } = casesOf(7);
const tags = "Records and lists have a strong `ETag`.";
const durable = "A write is confirmed (2xx) only";
const sameRequest = "Repeating a request with its key";
const reads = "Once the response to a write";

export const safeWriteCases = [
  both(tags, "the ETag is strong, and the write and the look-up agree on it", async (shop) => {
    const { id, etag, answer } = await shop.create();
    shop.header(answer, "ETag", /^"[^"]+"$/);
    const read = await shop.call("GET", `orderstatuses/${id}`);
    shop.header(read, "ETag", etag);
    const updated = await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}2` } });
    shop.holds(updated, `another ETag than ${etag}`, updated.headers.get("ETag") !== etag);
    shop.header(await shop.call("GET", `orderstatuses/${id}`), "ETag", updated.headers.get("ETag"));
  }),
  both(tags, "If-None-Match gets a 304 without a body until something changes", async (shop) => {
    const { id } = await shop.create();
    for (const path of [`orderstatuses/${id}`, "orderstatuses", "orderstatuses?limit=1"]) {
      const first = await shop.call("GET", path);
      const etag = first.headers.get("ETag") ?? "";
      for (const header of [etag, `"x", ${etag}`, `W/${etag}`]) {
        const answer = await shop.call("GET", path, { headers: { "If-None-Match": header } });
        shop.status(answer, 304);
        shop.same(answer, "the length of the body", answer.length, 0);
        shop.header(answer, "ETag", etag);
        shop.header(answer, "Content-Type", null);
      }
      const other = { headers: { "If-None-Match": '"x"' } };
      shop.status(await shop.call("GET", path, other), 200);
      shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}${path}` } }), 200);
      const changed = await shop.call("GET", path, { headers: { "If-None-Match": etag } });
      shop.status(changed, 200);
      shop.holds(changed, `another ETag than ${etag}`, changed.headers.get("ETag") !== etag);
    }
  }),
  both(tags, "If-Match gets a 412 if the record has changed, and nothing is written", async (shop) => {
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const { id, etag } = await shop.create();
      const guarded = (tag: string, name: string): CallOptions => ({
        headers: { "If-Match": tag },
        ...(method === "DELETE" ? {} : { body: { Name: `${shop.mark}${name}` } }),
      });
      const updated = await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}b` } });
      shop.problem(await shop.call(method, `orderstatuses/${id}`, guarded(etag, "c")), 412, /precondition-failed/);
      const read = await shop.call("GET", `orderstatuses/${id}`);
      shop.same(read, "the record", shop.record(read).Name, `${shop.mark}b`);
      shop.status(await shop.call(method, `orderstatuses/${id}`, guarded(updated.headers.get("ETag") ?? "", "d")), 200);
    }
  }),
  both("A read with `If-Match`", "reads check If-Match before If-None-Match", async (shop) => {
    const { id } = await shop.create();
    for (const path of [`orderstatuses/${id}`, "orderstatuses", "orderstatuses?limit=1"]) {
      const etag = (await shop.call("GET", path)).headers.get("ETag") ?? "";
      const read = (headers: Record<string, string>) => shop.call("GET", path, { headers });
      for (const tag of [etag, `"x", ${etag}`, "*"]) shop.status(await read({ "If-Match": tag }), 200);
      shop.status(await read({ "If-Match": etag, "If-None-Match": etag }), 304);
      shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}${path}` } }), 200);
      shop.problem(await read({ "If-Match": etag }), 412, /precondition-failed/);
      const now = (await shop.call("GET", path)).headers.get("ETag") ?? "";
      shop.problem(await read({ "If-Match": etag, "If-None-Match": now }), 412, /precondition-failed/);
    }
    shop.status(await shop.call("GET", "changes?limit=1", { headers: { "If-Match": "*" } }), 200);
    shop.problem(await shop.call("GET", "changes?limit=1", { headers: { "If-Match": '"x"' } }), 412);
  }),
  both("Two `Idempotency-Key` headers", "two Idempotency-Key headers get a 400", async (shop) => {
    for (const other of [shop.mark, `${shop.mark}2`]) {
      const answer = await shop.firstOfBytes([
        `DELETE /restapi/orderstatuses/${2 ** 52}.${shop.format} HTTP/1.1`,
        ...["Host: $HOST", "X-API-AUTH: $KEY", `Idempotency-Key: ${shop.mark}`, `Idempotency-Key: ${other}`],
      ]);
      shop.problem(answer, 400, /bad-request/);
    }
  }),
  both(tags, "without If-Match, the last write wins", async (shop) => {
    const { id } = await shop.create();
    for (const name of ["b", "c"])
      shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}${name}` } }), 200);
    const read = await shop.call("GET", `orderstatuses/${id}`);
    shop.same(read, "the name", shop.record(read).Name, `${shop.mark}c`);
  }),
  both("An `If-Match` works across formats", "an ETag from one format works in the other", async (shop) => {
    const { id, etag } = await shop.create();
    const format = otherFormat(shop);
    const write = { format, headers: { "If-Match": etag }, body: { Name: `${shop.mark}b` } };
    shop.status(await shop.call("PUT", `orderstatuses/${id}`, write), 200);
    shop.status(await shop.call("PUT", `orderstatuses/${id}`, write), 412);
  }),
  both("A malformed `If-Match`", "a malformed If-Match gets a 400", async (shop) => {
    const { id, etag } = await shop.create();
    for (const tag of [etag.replaceAll('"', ""), `${etag},x`, "", "'x'"]) {
      const options = { headers: { "If-Match": tag }, body: { Name: `${shop.mark}b` } };
      shop.problem(await shop.call("PUT", `orderstatuses/${id}`, options), 400);
    }
    const options = { headers: { "If-Match": `"x", ${etag}` }, body: { Name: `${shop.mark}b` } };
    shop.status(await shop.call("PUT", `orderstatuses/${id}`, options), 200);
  }),
  both("A weak tag never matches", "a weak tag gets a 412 that says it was weakened", async (shop) => {
    const { id, etag } = await shop.create();
    const options = { headers: { "If-Match": `W/${etag}` }, body: { Name: `${shop.mark}b` } };
    shop.problem(await shop.call("PUT", `orderstatuses/${id}`, options), 412, /weak/i);
  }),
  both("An `Idempotency-Key` has", "an Idempotency-Key has 1 to 255 printable ASCII characters", async (shop) => {
    for (const key of ["", "x".repeat(256), "x\u00e9", "x\ty"]) {
      const answer = await shop.call("POST", "orderstatuses", { body: { Name: shop.mark }, headers: idempotency(key) });
      shop.problem(answer, 400, /Idempotency-Key/);
    }
    const longest = shop.mark.padEnd(255, "~");
    shop.status(
      await shop.call("POST", "orderstatuses", { body: { Name: shop.mark }, headers: idempotency(longest) }),
      201,
    );
  }),
  both(sameRequest, "a repeated POST gets the first response, and creates nothing", async (shop) => {
    const options = { body: { Name: shop.mark }, headers: idempotency(shop.mark) };
    const [first, second] = [
      await shop.call("POST", "orderstatuses", options),
      await shop.call("POST", "orderstatuses", options),
    ];
    shop.status(first, 201);
    shop.header(first, "Idempotency-Replayed", null);
    shop.status(second, 201);
    shop.header(second, "Idempotency-Replayed", "true");
    shop.same(second, "the response", second.text, first.text);
    for (const name of ["Location", "ETag"]) shop.header(second, name, first.headers.get(name));
    const own = await shop.own();
    shop.same(second, "the number of records", own.length, 1);
  }),
  both(sameRequest, "a repeated PUT, PATCH or DELETE gets the first response, and changes nothing", async (shop) => {
    const { id, record } = await shop.create();
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const body = method === "DELETE" ? {} : { body: { Name: `${shop.mark}${method}` } };
      const options = { ...body, headers: idempotency(`${shop.mark}${method}`) };
      const first = await shop.call(method, `orderstatuses/${id}`, options);
      shop.status(first, 200);
      const between = { body: { Name: record.Name as string } };
      if (method !== "DELETE") shop.status(await shop.call("PUT", `orderstatuses/${id}`, between), 200);
      const second = await shop.call(method, `orderstatuses/${id}`, options);
      shop.same(second, "status and response", [second.status, second.text], [200, first.text]);
      shop.header(second, "Idempotency-Replayed", "true");
      const read = await shop.call("GET", `orderstatuses/${id}`);
      if (method === "DELETE") shop.status(read, 404);
      else shop.same(read, "the record", shop.record(read), record);
    }
  }),
  both("Errors aren't remembered", "a key can be used again after an error", async (shop) => {
    const headers = idempotency(shop.mark);
    shop.problem(await shop.call("POST", "orderstatuses", { body: { Name: "" }, headers }), 400);
    const answer = await shop.call("POST", "orderstatuses", { body: { Name: shop.mark }, headers });
    shop.status(answer, 201);
    shop.header(answer, "Idempotency-Replayed", null);
  }),
  both(
    "A different request with the same key",
    "requests differ by path, query, body, method and preconditions",
    async (shop) => {
      const { id, etag, record } = await shop.create();
      const key = idempotency(shop.mark);
      const body = { Name: record.Name as string };
      shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body, headers: key }), 200);
      const others: [string, string, CallOptions][] = [
        ["PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}b` }, headers: key }],
        ["PATCH", `orderstatuses/${id}`, { body, headers: key }],
        ["PUT", `orderstatuses/${id}?_=1`, { body, headers: key }],
        ["PUT", `orderstatuses/${id}`, { body, headers: { ...key, "If-Match": etag } }],
        ["POST", "orderstatuses", { body, headers: key }],
      ];
      for (const [method, path, options] of others)
        shop.problem(await shop.call(method, path, options), 422, /idempotency-key-reused/);
    },
  ),
  both("A different request with the same key", "only one of several concurrent requests writes", async (shop) => {
    const options = { body: { Name: shop.mark }, headers: idempotency(shop.mark), isFresh: true };
    const answers = await Promise.all(Array.from({ length: 5 }, () => shop.call("POST", "orderstatuses", options)));
    for (const answer of answers) {
      shop.status(answer, 201, 409);
      if (answer.status === 409) shop.header(answer, "Retry-After", /^[1-9]\d*$/);
    }
    const last = await shop.call("POST", "orderstatuses", options);
    shop.header(last, "Idempotency-Replayed", "true");
    shop.same(last, "the number of records", (await shop.own()).length, 1);
  }),
  both(durable, "one bad field means no field changes", async (shop) => {
    const { id, record, etag } = await shop.create("brands");
    const body = { Name: `${shop.mark}b`, AccountNumber: "1", Address: { Country: "Britain" } };
    shop.problem(await shop.call("PUT", `brands/${id}`, { body }), 400);
    const answer = await shop.call("GET", `brands/${id}`);
    shop.same(answer, "the record", shop.record(answer, "brands"), record);
    shop.header(answer, "ETag", etag);
  }),
  both(
    reads,
    "lists, look-ups and the feed show a write at once, in both formats, on new connections",
    async (shop) => {
      const { id } = await shop.create();
      for (let i = 0; i < 5; i++) {
        const Name = `${shop.mark}${i}`;
        shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body: { Name } }), 200);
        for (const format of ["json", "xml"] as const) {
          const isFresh = { format, isFresh: true };
          const single = await shop.call("GET", `orderstatuses/${id}`, isFresh);
          shop.same(single, "Name", shop.record(single, "orderstatuses", format).Name, Name);
          const whole = await shop.call("GET", "orderstatuses", isFresh);
          const listed = shop.list(whole, "orderstatuses", format).find((one) => one.ID === id);
          shop.same(whole, `Name of ${id}`, listed?.Name, Name);
        }
      }
      shop.status(await shop.call("DELETE", `orderstatuses/${id}`), 200);
      shop.status(await shop.call("GET", `orderstatuses/${id}`, { format: otherFormat(shop), isFresh: true }), 404);
      const list = await shop.call("GET", "orderstatuses", { isFresh: true });
      shop.holds(list, `a list without ${id}, which was deleted`, !shop.list(list).some((one) => one.ID === id));
    },
  ),
];

function idempotency(key: string): Record<string, string> {
  return { "Idempotency-Key": key };
}

function otherFormat(shop: Shop): Format {
  return shop.format === "json" ? "xml" : "json";
}
