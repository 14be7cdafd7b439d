// `Idempotency-Key` (contract section 7) on both engines, with a second process on the same database.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunningIdempotencyKeys } from "../../../src/http/records/idempotency.ts";
import type { Outcome } from "../../../src/model/change.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { importSite } from "../../../src/operator/site-files/import-site.ts";
import { createKey, rotateKey } from "../../../src/operator/sites/keys.ts";
import { setSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { engines } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { openSqliteFile } from "../../support/engine/sqlite-file.ts";
import { call, startTestServer, type TestResponse, type TestServer } from "../../support/http/server.ts";
import { type ServerProcess, startProcess } from "../../support/programs/processes.ts";

const list = "/restapi/brands.json";
const hour = 60 * 60 * 1000;

/** A client's request: everything that decides whether a later one is the same request. */
interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

describe.each(engines)("`Idempotency-Key` on $name", (kind) => {
  let server: TestServer;
  let second: ServerProcess;
  const start = Date.now();
  let clock = start;
  let names = 0;
  beforeAll(async () => {
    await kind.open();
    const DATABASE = await kind.newDatabase();
    server = await startTestServer({ settings: { DATABASE }, now: () => clock });
    second = await startProcess({ DATABASE });
  });
  afterAll(async () => {
    await second.end();
    await server.stop();
    await kind.close();
  });

  const newName = () => `${kind.name} ${++names}`;
  const send = ({ method, path, body, headers }: Sent, name: string, key = server.key) =>
    server.call(method, path, { body, key, headers: { ...headers, "Idempotency-Key": name } });
  const sendToSecond = ({ method, path, body, headers }: Sent, name: string, key = server.key) =>
    call(second.url + path, method, { body, key, headers: { ...headers, "Idempotency-Key": name } });
  /** Rotates a key, as the command would in another process. */
  const rotate = async (key: string, overlap = hour) => {
    const elsewhere = await openEngine(server.database, allResources);
    const rotated = await rotateKey(elsewhere, key, overlap, clock).finally(() => elsewhere.close());
    return rotated.key;
  };

  async function createBrand() {
    const created = await server.call("POST", list, { body: { Name: "Acme" } });
    const id = created.json.ID as number;
    return { id, path: `/restapi/brands/${id}.json`, etag: created.headers.get("ETag") as string };
  }
  const revision = async () => (await server.engine.readHeads([server.site.ID]))[0]?.revision;

  /** Repeats the request to both processes, and expects each to replay `first` and change nothing. */
  async function expectReplay(first: TestResponse, sent: Sent, name: string, key = server.key): Promise<void> {
    const before = await revision();
    for (const again of [await send(sent, name, key), await sendToSecond(sent, name, key)]) {
      expect(seen(again)).toEqual(seen(first));
      expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    }
    expect(await revision()).toBe(before as number);
  }

  const writes: [string, (brand: Awaited<ReturnType<typeof createBrand>>) => Sent][] = [
    ["a create", () => ({ method: "POST", path: list, body: { Name: "new" } })],
    ["a create in XML", () => ({ method: "POST", path: "/restapi/brands.xml", body: "<Brand><Name>x</Name></Brand>" })],
    ["a PUT", ({ path }) => ({ method: "PUT", path, body: { Name: "changed" } })],
    [
      "a PUT that names the record in its body",
      ({ id }) => ({ method: "PUT", path: list, body: { ID: id, Name: "z" } }),
    ],
    ["a PATCH", ({ path }) => ({ method: "PATCH", path, body: { Name: "changed" } })],
    ["an update that changes nothing", ({ path }) => ({ method: "PUT", path, body: { Name: "Acme" } })],
    [
      "an update with If-Match",
      ({ path, etag }) => ({ method: "PUT", path, body: { Name: "y" }, headers: { "If-Match": etag } }),
    ],
    ["a delete", ({ path }) => ({ method: "DELETE", path })],
    ["a delete in XML", ({ path }) => ({ method: "DELETE", path: path.replace("json", "xml") })],
    ["a delete that names the record in its query", ({ id }) => ({ method: "DELETE", path: `${list}?ID=${id}` })],
    ["a delete with If-Match", ({ path, etag }) => ({ method: "DELETE", path, headers: { "If-Match": etag } })],
    [
      "an update with If-None-Match",
      ({ path }) => ({ method: "PUT", path, body: { Name: "y" }, headers: { "If-None-Match": '"other"' } }),
    ],
    [
      "POST overridden to DELETE",
      ({ path }) => ({ method: "POST", path, headers: { "X-HTTP-Method-Override": "DELETE" } }),
    ],
  ];

  test.each(writes)("%s runs once, and its first response is replayed", async (_, toSent) => {
    const [brand, name] = [await createBrand(), newName()];
    const sent = toSent(brand);
    const first = await send(sent, name);
    expect([first.status, first.headers.get("Idempotency-Replayed")]).toEqual([
      (sent.path === list && sent.method === "POST") || sent.path.endsWith("brands.xml") ? 201 : 200,
      null,
    ]);
    await expectReplay(first, sent, name);
    // Later changes to the record don't affect the stored response.
    const id = /ID"?[:=]"?(\d+)/.exec(first.text)?.[1];
    await server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "later" } });
    await expectReplay(first, sent, name);
    await server.call("DELETE", `/restapi/brands/${id}.json`);
    await expectReplay(first, sent, name);
  });

  test("POST overridden to PUT counts as that PUT", async () => {
    const [{ path }, name] = [await createBrand(), newName()];
    const put: Sent = { method: "PUT", path, body: { Name: "once" } };
    const first = await send(put, name);
    await expectReplay(first, { ...put, method: "POST", headers: { "X-HTTP-Method-Override": "put" } }, name);
  });

  test("another request with the same name gets a 422 and changes nothing", async () => {
    const { path, etag, id } = await createBrand();
    const other = await createBrand();
    const put: Sent = { method: "PUT", path, body: { Name: "one" }, headers: { "If-Match": etag } };
    const name = newName();
    const first = await send(put, name);
    const before = await revision();
    const others: Sent[] = [
      { ...put, method: "PATCH" },
      { ...put, method: "DELETE" },
      { ...put, path: other.path },
      { ...put, path: `${path}?ID=${id}` },
      { ...put, path: path.replace("json", "xml"), body: "<Brand><Name>one</Name></Brand>" },
      { ...put, path: list, body: { ID: id, Name: "one" } },
      { ...put, body: { Name: "two" } },
      { ...put, headers: {} },
      { ...put, headers: { "If-Match": "*" } },
      { ...put, headers: { "If-Match": first.headers.get("ETag") as string } },
      { ...put, headers: { "If-None-Match": etag } },
      { ...put, headers: { "If-Match": etag, "If-None-Match": '"x"' } },
      { method: "POST", path: list, body: { Name: "one" } },
    ];
    for (const sent of others) {
      const rejected = await send(sent, name);
      expect([sent, rejected.status]).toEqual([sent, 422]);
      expect(/"type":"([^"]*)|<type>([^<]*)/.exec(rejected.text)?.slice(1).join("")).toBe(
        "/docs/problems/idempotency-key-reused",
      );
    }
    expect(await revision()).toBe(before as number);
    await expectReplay(first, put, name);
  });

  test("a rejected request doesn't use up its name", async () => {
    const { path } = await createBrand();
    const rejections: [number, Sent][] = [
      [400, { method: "POST", path: list, body: { Name: "" } }],
      [400, { method: "PUT", path: list, body: { Name: "x" } }],
      [404, { method: "PUT", path: "/restapi/brands/999999.json", body: { Name: "x" } }],
      [404, { method: "DELETE", path: "/restapi/brands/999999.json" }],
      [412, { method: "DELETE", path, headers: { "If-Match": '"x.1.json"' } }],
      [415, { method: "PUT", path, body: "{}", headers: { "Content-Type": "application/json; charset=latin1" } }],
    ];
    for (const [status, sent] of rejections) {
      const name = newName();
      expect([sent, (await send(sent, name)).status, (await send(sent, name)).status]).toEqual([sent, status, status]);
      const good = await send({ method: "PUT", path, body: { Name: name } }, name);
      expect([good.status, good.headers.get("Idempotency-Replayed")]).toEqual([200, null]);
    }
  });

  test("each API key has its own names", async () => {
    const [other, name] = [await server.issueKey(), newName()];
    const post: Sent = { method: "POST", path: list, body: { Name: "mine" } };
    const [first, theirs] = [await send(post, name), await send(post, name, other)];
    expect(theirs.status).toBe(201);
    expect(theirs.json.ID).not.toBe(first.json.ID);
  });

  describe("after a key rotation", () => {
    const post = (Name: string): Sent => ({ method: "POST", path: list, body: { Name } });
    const batch: Sent = {
      method: "POST",
      path: "/restapi/batch.json",
      body: { Operations: [{ Method: "POST", Resource: "brands", Record: { Name: "in a batch" } }] },
    };
    const undo = (Run: string): Sent => ({ method: "POST", path: "/restapi/undo.json", body: { Run } });

    test.each([
      ["with an overlap", hour],
      ["at once", 0],
    ])("%s: the new key replays the old key's request", async (_, overlap) => {
      const old = await server.issueKey();
      const [name, batchName, undoName] = [newName(), newName(), newName()];
      const first = await send(post("once"), name, old);
      const stored = await send(batch, batchName, old);
      const undone = await send(undo(stored.json.Run), undoName, old);
      const renewed = await rotate(old, overlap);
      await expectReplay(first, post("once"), name, renewed);
      await expectReplay(stored, batch, batchName, renewed);
      await expectReplay(undone, undo(stored.json.Run), undoName, renewed);
      expect((await send(post("other"), name, renewed)).status).toBe(422);
      expect((await send(batch, name, renewed)).status).toBe(422);
    });

    test("during the overlap, the old key replays the new key's requests, undo included", async () => {
      const old = await server.issueKey();
      const renewed = await rotate(old);
      const [name, batchName, undoName] = [newName(), newName(), newName()];
      const first = await send(post("once"), name, renewed);
      const stored = await send(batch, batchName, renewed);
      const undone = await send(undo(stored.json.Run), undoName, renewed);
      await expectReplay(first, post("once"), name, old);
      await expectReplay(stored, batch, batchName, old);
      await expectReplay(undone, undo(stored.json.Run), undoName, old);
      expect((await send(post("other"), name, old)).status).toBe(422);
      // The old key still can't undo the new key's runs.
      expect((await send(undo(stored.json.Run), newName(), old)).status).toBe(403);
    });

    test("after many rotations, the last key replays the first key's request", async () => {
      let last = await server.issueKey();
      const name = newName();
      const first = await send(post("once"), name, last);
      for (let count = 0; count < 22; count++) last = await rotate(last);
      await expectReplay(first, post("once"), name, last);
    });

    test("two replacements of the same key share names; other keys don't", async () => {
      const old = await server.issueKey();
      const [one, other] = [await rotate(old), await rotate(old)];
      const name = newName();
      const first = await send(post("once"), name, one);
      await expectReplay(first, post("once"), name, other);
      expect((await send(post("once"), name)).status).toBe(201);
    });

    test("names are still forgotten after 24 hours", async () => {
      const [old, name] = [await server.issueKey(), newName()];
      await send(post("once"), name, old);
      const renewed = await rotate(old);
      clock = start + 24 * hour;
      const forgotten = await send(post("once"), name, renewed);
      clock = start;
      expect([forgotten.status, forgotten.headers.get("Idempotency-Replayed")]).toEqual([201, null]);
    });

    test("sandbox keys share names until the sandbox is renewed", async () => {
      const elsewhere = await openEngine(server.database, allResources);
      const { site } = await makeSandbox(elsewhere, server.site.Name, { now: () => clock });
      const { key: old } = await createKey(elsewhere, site, {}, clock);
      const name = newName();
      const first = await send(post("once"), name, old);
      const renewed = await rotate(old);
      await expectReplay(first, post("once"), name, renewed);
      await makeSandbox(elsewhere, server.site.Name, { now: () => clock });
      await elsewhere.close();
      const again = await send(post("once"), name, renewed);
      expect([again.status, again.headers.get("Idempotency-Replayed")]).toEqual([201, null]);
      await expectReplay(again, post("once"), name, old);
    });

    test("keys share names after their site moves to another database", async () => {
      const folder = mkdtempSync(join(tmpdir(), "storefront-idempotency-"));
      const [old, name] = [await server.issueKey(), newName()];
      await setSite(server.engine, server.site.Name, { hostnames: ["moved.example"] }, clock);
      const first = await send(post("once"), name, old);
      const renewed = await rotate(old);
      await exportSite(server.engine, server.site.Name, join(folder, "shop.site"), clock);
      const other = await startTestServer({ settings: { DATABASE: await kind.newDatabase() }, now: () => clock });
      // Keys get other IDs there.
      await other.issueKey();
      await importSite(other.engine, join(folder, "shop.site"), { name: "moved", now: () => clock });
      const headers = { "Idempotency-Key": name, Host: "moved.example" };
      const again = await other.call("POST", list, { body: { Name: "once" }, key: renewed, headers });
      expect([again.status, again.text, again.headers.get("Idempotency-Replayed")]).toEqual([201, first.text, "true"]);
      await other.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test("sent at once with both keys to two processes, a request runs once", async () => {
      const old = await server.issueKey();
      const renewed = await rotate(old);
      const [before, name] = [(await revision()) as number, newName()];
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          const key = index % 4 < 2 ? old : renewed;
          return index % 2 ? sendToSecond(post("storm"), name, key) : send(post("storm"), name, key);
        }),
      );
      const done = responses.filter(({ status }) => status < 300);
      expect(responses.filter(({ status }) => status >= 300 && status !== 409)).toEqual([]);
      expect(done.filter(({ headers }) => !headers.has("Idempotency-Replayed"))).toHaveLength(1);
      expect(await revision()).toBe(before + 1);
    });
  });

  test("two keys may use the same name within one commit", async () => {
    const [site, name] = [server.site.ID, newName()];
    const both = [1, 2].map((keyId) => createIntent({ site, at: clock, idempotency: { keyId, name, digest: "d" } }));
    const ids = (outcomes: readonly Outcome[]) => outcomes.map((outcome) => (outcome as { id?: number }).id);
    const [first, again] = [await server.engine.commit(both), await server.engine.commit(both)];
    expect(first.map(({ kind }) => kind)).toEqual(["done", "done"]);
    expect(new Set(ids(first)).size).toBe(2);
    expect(again.map(({ kind }) => kind)).toEqual(["replayed", "replayed"]);
    expect(ids(again)).toEqual(ids(first));
  });

  test("a name is forgotten after 24 hours", async () => {
    const [{ path }, name] = [await createBrand(), newName()];
    const put: Sent = { method: "PUT", path, body: { Name: "old" } };
    await send(put, name);
    clock = start + 24 * hour - 1;
    const last = await send(put, name);
    clock = start + 24 * hour;
    const forgotten = await send(put, name);
    clock = start;
    expect([last, forgotten].map(({ headers }) => headers.get("Idempotency-Replayed"))).toEqual(["true", null]);
  });

  test("a name is 1 to 255 printable ASCII characters", async () => {
    const { path } = await createBrand();
    for (const bad of ["", "x".repeat(256), "tab\there", "é"]) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        const sent: Sent = {
          method,
          path: method === "POST" ? list : path,
          body: method === "DELETE" ? undefined : { Name: "x" },
        };
        expect([bad, method, (await send(sent, bad)).status]).toEqual([bad, method, 400]);
      }
    }
    for (const good of ["x".repeat(255), "!", `"a" ~ {b}`]) {
      expect((await send({ method: "PUT", path, body: { Name: good.slice(0, 9) } }, good)).status).toBe(200);
    }
  });

  test("reads ignore the header", async () => {
    const { path } = await createBrand();
    for (const _ of "twice") {
      const response = await send({ method: "GET", path }, "a read");
      expect([response.status, response.headers.get("Idempotency-Replayed")]).toEqual([200, null]);
    }
  });

  test("sent many times at once to two processes, a request runs once", async () => {
    const { path } = await createBrand();
    for (const sent of [
      { method: "POST", path: list, body: { Name: "storm" } },
      { method: "DELETE", path },
    ]) {
      const [before, name] = [await revision(), newName()];
      const responses = await Promise.all(
        Array.from({ length: 30 }, (_, i) => (i % 2 ? sendToSecond(sent, name) : send(sent, name))),
      );
      const done = responses.filter(({ status }) => status < 300);
      expect(responses.filter(({ status }) => status >= 300 && status !== 409)).toEqual([]);
      expect(done.filter(({ headers }) => !headers.has("Idempotency-Replayed"))).toHaveLength(1);
      expect(done.map(seen)).toEqual(done.map(() => seen(done[0] as TestResponse)));
      expect(await revision()).toBe((before as number) + 1);
      await expectReplay(done[0] as TestResponse, sent, name);
    }
  });
});

describe("Idempotency-Key while the first request is still running", () => {
  const named = (keyId: number, name: string) => ({ keyId, name, digest: "d" });
  const outcome: Outcome = { kind: "rejected", rejectionReason: "not-found" };

  test("the same name on the same API key is a conflict; any other isn't", async () => {
    const idempotencies = new RunningIdempotencyKeys();
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    let runs = 0;
    const run = () => {
      runs++;
      return promise;
    };
    const first = idempotencies.runUnlessRunning(named(1, "a"), run);
    await expect(idempotencies.runUnlessRunning(named(1, "a"), run)).rejects.toMatchObject({
      code: "conflict",
      retryAfterSeconds: 1,
    });
    expect(runs).toBe(1);
    const others = [named(2, "a"), named(1, "b"), named(11, "a"), undefined];
    const running = others.map((other) => idempotencies.runUnlessRunning(other, run));
    expect(runs).toBe(1 + others.length);
    resolve(outcome);
    for (const ended of await Promise.all([first, ...running])) expect(ended).toBe(outcome);
  });

  test.each([
    ["the same key", false],
    ["the key that has replaced it", true],
  ])("a second request with %s gets a 409 with Retry-After", async (_, isReplaced) => {
    const server = await startTestServer();
    const old = server.key;
    const { key } = isReplaced ? await rotateKey(server.engine, old, hour, Date.now()) : { key: old };
    const holder = openSqliteFile(server.database);
    holder.run("begin immediate");
    const [headers, body] = [{ "Idempotency-Key": "a" }, { Name: "one" }];
    const both = [old, key].map((sent) => server.call("POST", list, { headers, body, key: sent }));
    const rejected = await Promise.race(both);
    expect([rejected.status, rejected.json.type, rejected.headers.get("Retry-After")]).toEqual([
      409,
      "/docs/problems/conflict",
      "1",
    ]);
    holder.close();
    expect((await Promise.all(both)).map(({ status }) => status).toSorted()).toEqual([201, 409]);
    await server.stop();
  });

  test("the name is free again afterwards, even if the first request failed", async () => {
    const idempotencies = new RunningIdempotencyKeys();
    const failed = idempotencies.runUnlessRunning(named(1, "a"), () => Promise.reject(new Error("lost")));
    await expect(failed).rejects.toThrow("lost");
    expect(await idempotencies.runUnlessRunning(named(1, "a"), () => Promise.resolve(outcome))).toBe(outcome);
    expect(await idempotencies.runUnlessRunning(named(1, "a"), () => Promise.resolve(outcome))).toBe(outcome);
  });
});

/** The parts of a response that clients rely on. */
function seen({ status, text, headers }: TestResponse) {
  return { status, text, etag: headers.get("ETag"), location: headers.get("Location") };
}
