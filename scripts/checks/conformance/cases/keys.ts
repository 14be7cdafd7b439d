// Contract section 1: sites, keys, addressing.

import { casesOf } from "../case.ts";
import type { Answer } from "../requests.ts";
import { NotTested, type Shop } from "../shop.ts";

const { both, once } = casesOf(1);

export const keyCases = [
  once("The request's `Host`", "the host's port, case and trailing dot don't matter", async (shop) => {
    const { hostname } = new URL(shop.target.url);
    const isName = /[a-z]/i.test(hostname) && !hostname.startsWith("[");
    const hosts = ["$HOST", `${hostname}:9`, ...(isName ? [hostname.toUpperCase(), `${hostname}.`] : [])];
    for (const host of hosts) {
      const answer = await shop.firstOfBytes(request("GET /restapi/orderstatuses.json?limit=1", host));
      shop.status(answer, 200);
    }
  }),
  once("One site can be", "an unknown host gets a 421, unless there's a default site", async (shop) => {
    const answer = await shop.firstOfBytes(request("GET /restapi/orderstatuses.json?limit=1", "host.invalid"));
    shop.status(answer, 200, 403, 421);
    if (answer.status === 421) shop.problem(answer, 421, /wrong-site/);
  }),
  once("Headers set by proxies", "X-Forwarded-Host and X-Forwarded-For from a client are ignored", async (shop) => {
    const headers = { "X-Forwarded-Host": "host.invalid", "X-Forwarded-For": "192.0.2.1" };
    shop.status(await shop.call("GET", "orderstatuses?limit=1", { headers }), 200);
  }),
  once("A suspended site", "a suspended site always answers 403", async (shop) => {
    const host = shop.need("suspendedHost");
    for (const line of [
      "GET /restapi/brands.json",
      "POST /restapi/nothing.json",
      "GET /nothing",
      "DELETE /restapi/brands/1.xml",
    ])
      shop.problem(await shop.firstOfBytes(request(line, host)), 403, /site-suspended/);
  }),
  once("A site can have one *sandbox*", "a sandbox's name is its site's plus -sandbox", async (shop) => {
    const names = await Promise.all([shop.target.key, sandboxKey(shop)].map((key) => siteName(shop, key)));
    const last = await shop.call("GET", "orderstatuses?limit=1", { key: sandboxKey(shop) });
    shop.header(last, "X-Sandbox", /^[a-z0-9-]+-sandbox$/);
    shop.same(last, "the name of the sandbox", names[1], last.headers.get("X-Sandbox"));
    if (!names[0]?.endsWith("-sandbox")) shop.same(last, "the name of the sandbox", names[1], `${names[0]}-sandbox`);
  }),
  both("IDs count up from 1", "IDs are never reused, even after a delete", async (shop) => {
    const first = await shop.create();
    shop.status(await shop.call("DELETE", `orderstatuses/${first.id}`), 200);
    const second = await shop.create();
    shop.holds(second.answer, `an ID other than ${first.id}, which was deleted`, second.id !== first.id);
    shop.holds(second.answer, "an ID of at least 1", Number.isSafeInteger(second.id) && second.id >= 1);
    shop.problem(await shop.call("GET", `orderstatuses/${first.id}`), 404);
  }),
  both("A website of the interface", "a site's records are invisible to other sites", async (shop) => {
    const key = shop.need("sandboxKey");
    const { record } = await shop.create("brands", { Name: `${shop.mark} live` });
    const answer = await shop.call("GET", `brands?filter[Name]=${record.Name}`, { key });
    shop.same(answer, "the brands of the sandbox", shop.list(answer, "brands"), []);
  }),
  both(
    "The message describes the mistake",
    "a missing and a malformed key get different 401 messages",
    async (shop) => {
      const { key } = shop.target;
      const texts: string[] = [];
      for (const sent of [null, "x", `Bearer ${key}`, key.slice(0, -1)])
        texts.push(unauthorized(shop, await shop.call("GET", "orderstatuses", { key: sent })));
      const last = await shop.call("GET", "orderstatuses", { key: `${key}, ${key}` });
      texts.push(unauthorized(shop, last));
      shop.same(last, "different responses:", new Set(texts).size, texts.length);
      shop.holds(
        last,
        "no key in them",
        texts.every((text) => !text.includes(key.slice(17))),
      );
    },
  ),
  both("A missing, malformed", "a revoked or expired key gets a 401", async (shop) => {
    unauthorized(shop, await shop.call("GET", "orderstatuses", { key: shop.need("revokedKey") }));
  }),
  both("A sandbox key gives access", "a sandbox key only changes the sandbox", async (shop) => {
    const key = shop.need("sandboxKey");
    const { record } = await shop.create("orderstatuses", { Name: `${shop.mark} sandbox` }, { key });
    const answer = await shop.call("GET", `orderstatuses?filter[Name]=${record.Name}`);
    shop.same(answer, "the order statuses of the live site", shop.list(answer), []);
    const inSandbox = await shop.call("GET", `orderstatuses/${record.ID}`, { key });
    shop.same(inSandbox, "the record", shop.record(inSandbox), record);
  }),
  once("A live key never", "responses to a live key have no X-Sandbox", async (shop) => {
    if (shop.target.key.startsWith("sfk_test_")) throw new NotTested("needs the key of a live site");
    shop.header(await shop.call("GET", "orderstatuses?limit=1"), "X-Sandbox", null);
  }),
  both("With a valid sandbox key", "every response to a sandbox key has X-Sandbox, including errors", async (shop) => {
    const key = sandboxKey(shop);
    const name = (await shop.call("GET", "orderstatuses?limit=1", { key })).headers.get("X-Sandbox");
    for (const [method, path] of [
      ["GET", "nothing"],
      ["PATCH", "locations"],
      ["GET", "brands/0"],
      ["POST", "brands"],
    ]) {
      const answer = await shop.call(method as string, path as string, { key });
      shop.holds(answer, "a 4xx status", answer.status >= 400 && answer.status < 500);
      shop.header(answer, "X-Sandbox", name ?? /-sandbox$/);
    }
  }),
  both("The header is missing", "401s, preflights and paths that need no key have no X-Sandbox", async (shop) => {
    const headers = { Origin: "https://shop.example", "Access-Control-Request-Method": "GET" };
    const answers = [
      await shop.call("GET", "orderstatuses", { key: null }),
      await shop.call("OPTIONS", "orderstatuses", { key: null, headers }),
      await shop.call("GET", "/healthz", { key: null }),
    ];
    for (const answer of answers) shop.header(answer, "X-Sandbox", null);
  }),
  both(
    "The live site, the sandbox, and",
    "the live site and its sandbox reject each other's cursors and ETags",
    async (shop) => {
      const key = shop.need("sandboxKey");
      const live = await shop.create();
      const page = await shop.call("GET", "changes?since=now");
      const cursor = /Next"?[=:]\s*"([^"]+)"/.exec(page.text)?.[1] ?? "";
      shop.problem(await shop.call("GET", `changes?since=${cursor}`, { key }), 410);
      const { id } = await shop.create("orderstatuses", {}, { key });
      const options = { key, body: { Name: `${shop.mark} x` }, headers: { "If-Match": live.etag } };
      shop.problem(await shop.call("PUT", `orderstatuses/${id}`, options), 412);
    },
  ),
  both("Another site's key", "another site's key gets a 403", async (shop) => {
    const answer = await shop.call("GET", "orderstatuses", { key: shop.need("otherKey") });
    shop.problem(answer, 403, /forbidden/);
    shop.header(answer, "X-Sandbox", null);
  }),
  both(
    "A request that needs a right",
    "a write with a read-only key gets a 403 that names the right, and changes nothing",
    async (shop) => {
      const key = shop.need("readKey");
      const { id, record } = await shop.create();
      const answer = await shop.call("PUT", `orderstatuses/${id}`, { key, body: { Name: `${shop.mark} x` } });
      shop.problem(answer, 403, /\borderstatuses:write\b/);
      const read = await shop.call("GET", `orderstatuses/${id}`, { key });
      shop.same(read, "the record", shop.record(read), record);
    },
  ),
  both(
    "The server checks the method first",
    "checks run in order: method 501, route 404 or 405, key 401, then the body",
    async (shop) => {
      const without = { key: null };
      const unknown = `/restapi/nothing.${shop.format}`;
      const [line = ""] = request(`GREET ${unknown}`, "$HOST");
      shop.status(await shop.firstOfBytes([line, "Host: $HOST", "Content-Length: 0"]), 501);
      shop.status(await shop.call("GET", "nothing", without), 404);
      shop.status(await shop.call("PUT", "locations", without), 405);
      shop.status(await shop.call("POST", "orderstatuses", { ...without, body: "not a record" }), 401);
      shop.status(await shop.call("POST", "orderstatuses", { body: "not a record" }), 400);
      shop.status(await shop.call("OPTIONS", "orderstatuses", without), 204);
    },
  ),
  both("The server checks the method first", "a key's rights are checked before the body", async (shop) => {
    const answer = await shop.call("POST", "orderstatuses", { key: shop.need("readKey"), body: "not a record" });
    shop.problem(answer, 403);
  }),
  both("`Rights` lists every right", "a read-only key has all rights to read, and no others", async (shop) => {
    const answer = await shop.call("GET", "key", { key: shop.need("readKey") });
    shop.status(answer, 200);
    const rights = answer.text.match(/\b[a-z]+:(?:read|write)\b/g);
    const expected = ["brands:read", "orderstatuses:read", "locations:read", "changes:read"];
    shop.same(answer, "the rights", rights?.toSorted(), expected.toSorted());
    shop.holds(answer, "the key's prefix", answer.text.includes(shop.need("readKey").slice(0, 12)));
    shop.holds(answer, "no more of the key than its prefix", !answer.text.includes(shop.need("readKey").slice(0, 13)));
  }),
  both("`webhooks:write` is never part", "the run's key doesn't have webhooks:write", async (shop) => {
    const answer = await shop.call("GET", "key");
    shop.holds(answer, "no right to webhooks", !answer.text.includes("webhooks:"));
  }),
  both("There are no parameters and no `ETag`", "a parameter gets a 400, and another method a 405", async (shop) => {
    shop.problem(await shop.call("GET", "key?fields=Label"), 400);
    shop.problem(await shop.call("PUT", "key", { body: "" }), 405);
    const answer = await shop.call("GET", "key");
    shop.header(answer, "ETag", null);
    shop.header(answer, "Cache-Control", /no-store/);
  }),
  both("A batch request needs the rights", "a batch request with a read-only key gets a 403", async (shop) => {
    const body = shop.format === "json" ? '{"Operations":[]}' : "<Batch/>";
    shop.problem(await shop.call("POST", "batch?atomic=0", { key: shop.need("readKey"), body }), 403);
  }),
  once("Sandbox keys start", "sandbox keys start with sfk_test_, and all others with sfk_", async (shop) => {
    for (const key of [shop.target.key, shop.target.extras.sandboxKey].filter((one) => one !== undefined)) {
      const answer = await shop.call("GET", "orderstatuses?limit=1", { key });
      const form = answer.headers.has("X-Sandbox") ? /^sfk_test_\w{42}$/ : /^sfk_(?!test_)\w{42}$/;
      shop.holds(answer, `a key of the form ${form}`, form.test(key));
    }
  }),
];

function request(line: string, host: string): string[] {
  return [`${line} HTTP/1.1`, `Host: ${host}`, "X-API-AUTH: $KEY", "Content-Length: 0"];
}

/** The run's own key if it's a sandbox key, otherwise --sandbox-key. */
function sandboxKey(shop: Shop): string {
  return shop.target.key.startsWith("sfk_test_") ? shop.target.key : shop.need("sandboxKey");
}

async function siteName(shop: Shop, key: string): Promise<string | undefined> {
  const answer = await shop.call("GET", "/restapi/key.json", { key });
  shop.status(answer, 200);
  return JSON.parse(answer.text).Site;
}

/** Checks a 401, and returns the part that mustn't depend on the key. */
function unauthorized(shop: Shop, answer: Answer): string {
  const { instance } = shop.problem(answer, 401, /unauthorized/);
  shop.header(answer, "WWW-Authenticate", /^ApiKey realm="[a-z0-9-]+", header="X-API-AUTH"$/);
  if (!instance) throw new NotTested("the problem has no instance, which section 8 tests");
  return `${answer.headers.get("WWW-Authenticate")} ${answer.text.replaceAll(instance, "")}`;
}
