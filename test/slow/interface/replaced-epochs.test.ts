// A restore replaces a site's epoch between a write's authorization and its commit. The write must be authorized again and repeated.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { createKey, revokeKey, setKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import type { Listener } from "../../../src/wire/listen.ts";
import { engines } from "../../support/engine/engines.ts";
import { call } from "../../support/http/server.ts";
import { serveWithCommits } from "../../support/http/wrapped-engine.ts";

describe.each(engines)("restore before a commit on $name", (kind) => {
  let folder: string;
  let engine: Engine;
  let server: Listener;
  let key: string;
  /** Called between the checks of a write and its commit. */
  let beforeCommit: () => Promise<unknown>;

  beforeAll(() => kind.open());
  afterAll(() => kind.close());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "storefront-history-"));
    engine = await openEngine(await kind.newDatabase(), allResources);
    key = (await createKey(engine, await createSite(engine, "shop", { isDefault: true }, 1), {}, 1)).key;
    server = serveWithCommits(engine, {
      commit: async (intents, options) => {
        await beforeCommit();
        return engine.commit(intents, options);
      },
    });
  });
  afterEach(async () => {
    await server.stop(1);
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const create = (Name: string) => call(`${server.url}/restapi/brands.json`, "POST", { key, body: { Name } });

  test("the write is authorized again, and stored in the restored site", async () => {
    const file = join(folder, "a.backup");
    beforeCommit = async () => {};
    expect((await create("kept")).status).toBe(201);
    await backUp(engine, file, 1);
    expect((await create("lost")).status).toBe(201);
    let commits = 0;
    beforeCommit = async () => {
      if (++commits === 1) await restore(engine, file, join(folder, "before.backup"), 1);
    };
    expect((await create("late")).status).toBe(201);
    expect(commits).toBe(2);
    const list = await call(`${server.url}/restapi/brands.json`, "GET", { key });
    expect(list.json).toMatchObject([
      { ID: 1, Name: "kept" },
      { ID: 2, Name: "late" },
    ]);
  });

  test("before each of three commits: the write gets a 503, changes nothing, and can be retried", async () => {
    const file = join(folder, "a.backup");
    beforeCommit = async () => {};
    expect((await create("kept")).status).toBe(201);
    await backUp(engine, file, 1);
    expect((await create("lost")).status).toBe(201);
    let commits = 0;
    beforeCommit = () => restore(engine, file, join(folder, `before-${++commits}.backup`), 1);
    const failed = await create("late");
    expect(commits).toBe(3);
    expect([failed.status, failed.json.type]).toEqual([503, "/docs/problems/unavailable"]);
    expect(failed.json.detail).toBe("the site was restored or removed at this moment; try again");
    expect(Number(failed.headers.get("Retry-After"))).toBeGreaterThan(0);
    beforeCommit = async () => {};
    const list = async () => (await call(`${server.url}/restapi/brands.json`, "GET", { key })).json;
    expect(await list()).toMatchObject([{ ID: 1, Name: "kept" }]);
    expect((await create("late")).status).toBe(201);
    expect(await list()).toMatchObject([{ Name: "kept" }, { ID: 2, Name: "late" }]);
  });

  test("a site's first write doesn't use a key that the restore revokes", async () => {
    const file = (name: string) => join(folder, name);
    const prefix = key.slice(0, 12);
    const [before, revoked] = [file("a.backup"), file("b.backup")];
    await backUp(engine, before, 1);
    await revokeKey(engine, prefix, 1);
    await backUp(engine, revoked, 1);
    await restore(engine, before, file("before-a"), 1, { isAsOfBackup: true });
    // The system site has more changes now than when the key was revoked in the other epoch.
    for (const label of ["x", "y", "z"]) await setKey(engine, prefix, { label }, 1);
    beforeCommit = () => restore(engine, revoked, file("before-b"), 1);
    expect((await create("late")).status).toBe(401);
    expect(await engine.readHeads([1])).toMatchObject([{ revision: 0, epoch: expect.stringMatching(/./) }]);
  });

  test("a retried request is only replayed once its key was checked in the restored epoch", async () => {
    const file = join(folder, "a.backup");
    beforeCommit = async () => {};
    const send = () =>
      call(`${server.url}/restapi/brands.json`, "POST", {
        key,
        body: { Name: "once" },
        headers: { "Idempotency-Key": "x" },
      });
    expect((await send()).status).toBe(201);
    await backUp(engine, file, 1);
    const revoked = join(folder, "b.backup");
    await revokeKey(engine, key.slice(0, 12), 1);
    await backUp(engine, revoked, 1);
    await restore(engine, file, join(folder, "before-a.backup"), 1, { isAsOfBackup: true });
    let commits = 0;
    beforeCommit = async () => {
      if (++commits === 1) await restore(engine, file, join(folder, "before-b.backup"), 1);
    };
    const replayed = await send();
    expect([replayed.status, replayed.headers.get("Idempotency-Replayed"), commits]).toEqual([201, "true", 2]);
    beforeCommit = () => restore(engine, revoked, join(folder, "before-c.backup"), 1);
    expect((await send()).status).toBe(401);
  });
});
