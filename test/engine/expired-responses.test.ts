// Responses for idempotency keys are deleted after a day, in small chunks that don't delay writes.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import pino from "pino";
import type { Engine } from "../../src/model/engine.ts";
import { idempotencyLifetimeMs } from "../../src/model/limits.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { startResponseExpiry } from "../../src/store/writes/response-expiry.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";
import { openSqliteFile } from "../support/engine/sqlite-file.ts";
import { waitUntil } from "../support/time.ts";

const now = 10 * idempotencyLifetimeMs;
const log = pino({ level: "silent" });

describe.each(engines)("on $name", (kind) => {
  let url: string;
  let engine: Engine;
  beforeAll(async () => {
    await kind.open();
    url = await kind.newDatabase();
    engine = await openEngine(url, allResources);
  });
  afterAll(async () => {
    await engine.close();
    await kind.close();
  });

  const named = (site: number, name: string, at: number) =>
    createIntent({ site, at, idempotency: { keyId: site, name, digest: "d" } });
  const kept = async () => {
    const rows = (await kind.select(url, "select name from idempotency order by name")) as { name: string }[];
    return rows.map(({ name }) => name);
  };
  /** Stores expired responses of three sites, and one response per site that has not expired. */
  const fill = () =>
    engine.commit(
      [1, 2, 3].flatMap((site) => [
        ...Array.from({ length: 10 }, (_, i) => named(site, `old ${site}.${i}`, now - idempotencyLifetimeMs - i)),
        named(site, `young ${site}`, now - idempotencyLifetimeMs + 1),
      ]),
    );

  test("write with a key: deletes nothing, ignores an expired response", async () => {
    await fill();
    const [again] = await engine.commit([named(1, "old 1.0", now)]);
    expect(again).toMatchObject({ kind: "done", id: 12 });
    expect(await kept()).toHaveLength(33);
  });

  test("expired responses: deleted in chunks across all sites, others stay", async () => {
    let chunks = 0;
    let most = 0;
    for (let isMore = true; isMore; chunks++) {
      const before = (await kept()).length;
      isMore = await engine.deleteExpiredResponses(now - idempotencyLifetimeMs, 7);
      most = Math.max(most, before - (await kept()).length);
    }
    expect(await kept()).toEqual(["old 1.0", "young 1", "young 2", "young 3"]);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(7);
    expect(chunks).toBeGreaterThanOrEqual(5);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("two processes delete while a client writes with the same keys", async () => {
    await fill();
    const other = await openEngine(url, allResources);
    const forgetting = [engine, other].map((one) =>
      startResponseExpiry(one, { log, now: () => now, rowsPerTransaction: 4, firstPauseMs: 0 }),
    );
    for (let i = 0; i < 10; i++) expect(await engine.commit([named(2, `old 2.${i}`, now)])).toMatchObject([{}]);
    const isExpired = (name: string) => /^old [13]/.test(name) && name !== "old 1.0";
    await waitUntil(async () => !(await kept()).some(isExpired), "the deletion of the expired responses");
    await Promise.all(forgetting.map(({ stop }) => stop()));
    expect((await kept()).filter((name) => name.startsWith("old 2"))).toHaveLength(10);
    await other.close();
  });
});

test("SQLite: a failed deletion doesn't delay writes", async () => {
  const [kind] = engines;
  await kind?.open();
  const url = (await kind?.newDatabase()) as string;
  const engine = await openEngine(url, allResources);
  const write = (name: string, at: number) =>
    engine.commit([createIntent({ at, idempotency: { keyId: 1, name, digest: "d" } })]);
  await write("old", 1);
  using database = openSqliteFile(url);
  database.run("create trigger slow before delete on idempotency begin select raise(abort, 'slow'); end");
  expect(await write("new", now)).toMatchObject([{ kind: "done" }]);
  await engine.close();
  await kind?.close();
});

test("PostgreSQL: a slow deletion doesn't delay writes", async () => {
  const kind = engines[1];
  await kind?.open();
  const url = (await kind?.newDatabase()) as string;
  const engine = await openEngine(url, allResources);
  const write = (name: string, at: number) =>
    engine.commit([createIntent({ at, idempotency: { keyId: 1, name, digest: "d" } })]);
  for (let i = 0; i < 500; i++) await write(`old ${i}`, 1);
  await kind?.select(
    url,
    `create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.01); return old; end';
     create trigger slow before delete on idempotency for each row execute function slow()`,
  );
  expect(await write("new", now)).toMatchObject([{ kind: "done" }]);
  await engine.close();
  await kind?.close();
});
