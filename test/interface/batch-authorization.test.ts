// The key, site or database changes while a batch waits for its body or its transaction (contract sections 1 and 14).

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/model/engine.ts";
import { unavailableError } from "../../src/model/errors.ts";
import { backUp, restore } from "../../src/operator/backup/backup.ts";
import { makeSandbox } from "../../src/operator/sandbox/make-sandbox.ts";
import { createKey, revokeKey, setKey } from "../../src/operator/sites/keys.ts";
import { createSite, setSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import type { Listener } from "../../src/wire/listen.ts";
import { engines } from "../support/engine/engines.ts";
import { sendBatch, statusesIn, toCreate, toDelete, toUpdate, toUpsert } from "../support/http/batch.ts";
import { type CallOptions, call } from "../support/http/server.ts";
import { serveWithCommits } from "../support/http/wrapped-engine.ts";
import { openClient, toRequest } from "../support/wire/client.ts";

describe.each(engines)("a batch on $name", (kind) => {
  let folder: string;
  let engine: Engine;
  let server: Listener;
  let key: string;
  let commits = 0;
  /** Called before each transaction of a batch, with the transaction's number. */
  let beforeCommit: (number: number) => Promise<unknown>;
  /** Whether the next transaction's result is lost after the commit. */
  let isResultLost = false;

  beforeAll(() => kind.open());
  afterAll(() => kind.close());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "storefront-batch-"));
    engine = await openEngine(await kind.newDatabase(), allResources);
    key = (await createKey(engine, await createSite(engine, "shop", { isDefault: true }, 1), {}, 1)).key;
    commits = 0;
    beforeCommit = async () => {};
    isResultLost = false;
    server = serveWithCommits(engine, {
      commitAtomically: async (...args) => {
        await beforeCommit(++commits);
        const result = await engine.commitAtomically(...args);
        if (isResultLost) throw unavailableError("the connection was lost");
        return result;
      },
    });
  });
  afterEach(async () => {
    await server.stop(1);
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const caller = {
    call: (method: string, path: string, options: CallOptions = {}) =>
      call(`${server.url}${path}`, method, { key, ...options }),
  };
  const prefix = () => key.slice(0, key.startsWith("sfk_test_") ? 17 : 12);
  const names = async (options: CallOptions = {}) =>
    (await caller.call("GET", "/restapi/brands.json", options)).json.map(({ Name }: { Name: string }) => Name);
  const operations = [toCreate({ Name: "one" }), toCreate({ Name: "two" })];

  test.each<[string, number, () => Promise<unknown>, query: string]>([
    ["its key is revoked", 401, () => revokeKey(engine, prefix(), 1), "match=Name"],
    ["its site is suspended", 403, () => setSite(engine, "shop", { isSuspended: true }, 1), "atomic=0"],
    ["no site has its host any more", 421, () => setSite(engine, "shop", { isDefault: false }, 1), "atomic=1"],
  ])("is not stored if %s just before its transaction: %i", async (_, status, change, query) => {
    beforeCommit = change;
    const response = await sendBatch(caller, [toCreate({ Name: "one" }), toUpdate(99, { Name: "two" })], { query });
    expect([response.status, commits]).toEqual([status, 1]);
    expect((await engine.readJournalPage(1, 0, 10)).entries).toEqual([]);
  });

  test("is stored if only its key's label changed while it waited", async () => {
    beforeCommit = async (number) => (number === 1 ? setKey(engine, prefix(), { label: "x" }, 1) : undefined);
    const response = await sendBatch(caller, operations);
    expect([response.status, commits, await names()]).toEqual([200, 2, ["one", "two"]]);
  });

  test("is matched again if its site was restored while it waited, and stored there", async () => {
    const file = join(folder, "a.backup");
    expect(statusesIn(await sendBatch(caller, [toCreate({ Name: "kept" })]))).toEqual([201]);
    await backUp(engine, file, 1);
    expect(statusesIn(await sendBatch(caller, [toCreate({ Name: "lost" })]))).toEqual([201]);
    commits = 0;
    beforeCommit = async (number) => {
      if (number === 1) await restore(engine, file, join(folder, "before.backup"), 1);
    };
    const sent = [toUpsert({ Name: "lost" }), toUpsert({ Name: "kept", AccountNumber: "1" })];
    const response = await sendBatch(caller, sent, { query: "match=Name" });
    expect([response.status, commits, statusesIn(response)]).toEqual([200, 2, [201, 200]]);
    expect(await names()).toEqual(["kept", "lost"]);
  });
  if (kind.name === "PostgreSQL") return;

  test("gets a 503 if its result is lost, and is replayed by its idempotency key", async () => {
    const headers = { "Idempotency-Key": "once" };
    isResultLost = true;
    const lost = await sendBatch(caller, operations, { headers });
    expect([lost.status, lost.json.type]).toEqual([503, "/docs/problems/unavailable"]);
    isResultLost = false;
    const again = await sendBatch(caller, operations, { headers });
    expect([again.status, again.headers.get("Idempotency-Replayed"), statusesIn(again)]).toEqual([
      200,
      "true",
      [201, 201],
    ]);
    expect(await names()).toEqual(["one", "two"]);
    isResultLost = true;
    const committed = sendBatch(caller, [toCreate({ Name: "three" })]);
    expect((await committed).status).toBe(503);
  });

  test("with a sandbox key is stored in the sandbox", async () => {
    await sendBatch(caller, [toCreate({ Name: "live" })]);
    const { site } = await makeSandbox(engine, "shop", { now: () => 1 });
    const sandboxKey = (await createKey(engine, site, {}, 1)).key;
    const response = await sendBatch(
      caller,
      [toUpsert({ Name: "live", AccountNumber: "x" }), toCreate({ Name: "new" })],
      {
        key: sandboxKey,
        query: "match=Name",
        headers: { "Idempotency-Key": "a" },
      },
    );
    expect([statusesIn(response), response.headers.get("X-Sandbox")]).toEqual([[200, 201], site.Name]);
    expect([await names(), await names({ key: sandboxKey })]).toEqual([["live"], ["live", "new"]]);
    const fault = await sendBatch(caller, [toDelete(99)], { key: sandboxKey });
    expect([fault.status, fault.headers.get("X-Sandbox")]).toEqual([404, site.Name]);
    // The sandbox is renewed before the transaction, so the batch goes into the new copy.
    beforeCommit = async () => {
      beforeCommit = async () => {};
      await makeSandbox(engine, "shop", { now: () => 1 });
    };
    const renewed = await sendBatch(caller, [toUpsert({ Name: "new" })], { key: sandboxKey, query: "match=Name" });
    expect([renewed.status, statusesIn(renewed)]).toEqual([200, [201]]);
    expect(await names({ key: sandboxKey })).toEqual(["live", "new"]);
  });

  test.each<[string, number, () => Promise<unknown>]>([
    ["its key is revoked", 401, () => revokeKey(engine, prefix(), 1)],
    ["its site is suspended", 403, () => setSite(engine, "shop", { isSuspended: true }, 1)],
  ])("is not parsed if %s while its body arrives", async (_, status, change) => {
    const client = await openClient(server.port);
    const body = "this is no JSON";
    const lines = ["Host: x", `X-API-AUTH: ${key}`, `Content-Length: ${body.length}`, "Expect: 100-continue"];
    client.send(toRequest("POST /restapi/batch.json HTTP/1.1", lines));
    await client.until((received) => received.includes("100 Continue"));
    client.send(body.slice(0, 5));
    await change();
    client.send(body.slice(5));
    const responses = await client.responses(2);
    client.socket.destroy();
    expect([responses[1]?.status, commits]).toEqual([status, 0]);
  });
});
