// `/readyz` is 503 while writes are impossible (contract section 11), and costs the database almost nothing.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readiness } from "../../../src/http/health.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { openSqliteFile } from "../../support/engine/sqlite-file.ts";
import { startTestServer, type TestServer } from "../../support/http/server.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres/server.ts";
import { waitUntil } from "../../support/time.ts";

const status = async (server: TestServer) => (await server.call("GET", "/readyz", { key: null })).status;
const writes = async (server: TestServer) =>
  (await server.call("POST", "/restapi/brands.json", { body: { Name: "x" } })).status;
const becomes = (server: TestServer, wanted: number) =>
  waitUntil(async () => (await status(server)) === wanted, `/readyz to be ${wanted}`);

const folder = mkdtempSync(join(tmpdir(), "storefront-ready-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("readiness on SQLite", () => {
  test("not ready while another program has locked the database", async () => {
    const server = await startTestServer();
    expect(await status(server)).toBe(200);
    const other = openSqliteFile(server.database);
    other.run("begin immediate");
    const [write] = await Promise.all([writes(server), becomes(server, 503)]);
    expect(write).toBe(503);
    other.run("rollback");
    other.close();
    await becomes(server, 200);
    expect(await writes(server)).toBe(201);
    await server.stop();
  });

  // Only root can mount a small disk.
  const disk = mkdtempSync(join(tmpdir(), "storefront-disk-"));
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", disk]).status === 0;
  afterAll(() => {
    if (isMounted) spawnSync("umount", ["-l", disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  test.skipIf(!isMounted)("not ready while the disk is full, and ready again once there's room", async () => {
    const server = await startTestServer({ settings: { DATABASE: `sqlite:${join(disk, "test.db")}` } });
    expect([await status(server), await writes(server)]).toEqual([200, 201]);
    expect(() => writeFileSync(join(disk, "other"), Buffer.alloc(4 * 1024 * 1024))).toThrow("ENOSPC");
    await waitUntil(async () => (await writes(server)) === 503, "a write to fail");
    expect(await status(server)).toBe(503);
    rmSync(join(disk, "other"));
    await becomes(server, 200);
    expect(await writes(server)).toBe(201);
    await server.stop();
  });

  test("a check changes nothing, so no other process reads anything again", async () => {
    const url = `sqlite:${join(folder, "same.db")}`;
    const [engine, other] = [await openEngine(url, allResources), await openEngine(url, allResources)];
    const before = [await engine.readHeads([0]), await Array.fromAsync(engine.dump())];
    await engine.probeWrite();
    expect([await engine.readHeads([0]), await Array.fromAsync(engine.dump())]).toEqual(before);
    expect(await other.readHeads([0])).toEqual(await engine.readHeads([0]));
    await Promise.all([engine.close(), other.close()]);
  });
});

describe("readiness on PostgreSQL", () => {
  let database: TestPostgres;
  beforeAll(async () => {
    database = await startPostgres();
  });
  afterAll(() => database.remove());

  test("not ready while the database takes no writes", async () => {
    const server = await startTestServer({ settings: { DATABASE: await database.createDatabase() } });
    expect([await status(server), await writes(server)]).toEqual([200, 201]);
    const before = await Array.fromAsync(server.engine.dump());
    await database.run("alter system set default_transaction_read_only = on");
    await database.run("select pg_reload_conf()");
    await becomes(server, 503);
    expect(await writes(server)).toBe(503);
    await database.run("alter system reset default_transaction_read_only");
    await database.run("select pg_reload_conf()");
    await becomes(server, 200);
    expect(await Array.fromAsync(server.engine.dump())).toEqual(before);
    expect(await writes(server)).toBe(201);
    await server.stop();
  });

  test("not ready while a missing standby blocks writes, although reads continue", async () => {
    const server = await startTestServer({ settings: { DATABASE: await database.createDatabase() } });
    expect(await writes(server)).toBe(201);
    await database.run("alter system set synchronous_standby_names = '*'");
    await database.run("select pg_reload_conf()");
    await becomes(server, 503);
    for (let count = 0; count < 3; count++) {
      expect((await server.call("GET", "/restapi/brands.json")).status).toBe(200);
      await status(server);
    }
    await database.run("alter system reset synchronous_standby_names");
    await database.run("select pg_reload_conf()");
    await becomes(server, 200);
    await server.stop();
  });
});

describe("readiness checks of the storage", () => {
  let engine: Engine;
  let now = 0;
  let count = 0;
  const asks = (probe: () => Promise<void>) => {
    count = 0;
    const counted = () => {
      count++;
      return probe();
    };
    const readiness = new Readiness({ readHeads: engine.readHeads, probeWrite: counted }, () => now);
    return () => readiness.requireReady();
  };
  beforeAll(async () => {
    engine = await openEngine(`sqlite:${join(folder, "asked.db")}`, allResources);
  });
  afterAll(() => engine.close());

  test("once a second, however many callers there are", async () => {
    const isReady = asks(() => engine.probeWrite());
    for (now = 0; now < 2500; now += 100) await Promise.all(Array.from({ length: 50 }, isReady));
    expect(count).toBe(3);
  });

  test("again after a failure", async () => {
    let fails = true;
    const isReady = asks(() => (fails ? Promise.reject(new Error("gone")) : engine.probeWrite()));
    await expect(isReady()).rejects.toThrow("gone");
    fails = false;
    now += 1000;
    await isReady();
    expect(count).toBe(2);
  });

  test("not within three seconds of a failed write", async () => {
    const readiness = new Readiness(engine, () => now);
    await readiness.requireReady();
    readiness.reportFailedWrite();
    expect(readiness.latest).toBe(false);
    now += 2999;
    await expect(readiness.requireReady()).rejects.toMatchObject({ code: "unavailable" });
    now += 1;
    await readiness.requireReady();
  });

  test("only one at a time if it doesn't respond", async () => {
    const isReady = asks(() => new Promise(() => {}));
    const first = isReady();
    now += 1000;
    await expect(Promise.allSettled([first, isReady()])).resolves.toMatchObject([
      { reason: { code: "unavailable" } },
      { reason: { code: "unavailable" } },
    ]);
    expect(count).toBe(1);
  });
});
