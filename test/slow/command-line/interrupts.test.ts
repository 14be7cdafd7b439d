// An interrupted import or undo reports its changes and stores nothing after that. An interrupted sandbox copy leaves nothing behind.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { repeatWithinMs, waitUntilAborted } from "../../../src/commands/shared/interrupt.ts";
import { getSite } from "../../../src/operator/sites/sites.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { openSqliteFile } from "../../support/engine/sqlite-file.ts";
import { startPostgres } from "../../support/postgres/server.ts";
import { openWorkspace, type Started } from "../../support/programs/command.ts";
import { type Data, dataOf } from "../../support/programs/command-data.ts";
import { letPass, ticks, waitUntil } from "../../support/time.ts";

const workspace = openWorkspace();
const postgres = await startPostgres();
afterAll(async () => {
  await workspace.close();
  await postgres.remove();
});

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const rows = (count: number) => Array.from({ length: count }, (_, n) => `Brand ${n}\n`).join("");

/** Whether the process handles SIGINT yet, according to its mask of caught signals. */
function isReady({ pid }: Started): boolean {
  const file = `/proc/${pid}/status`;
  const mask = existsSync(file)
    ? /^SigCgt:\t(\w+)/m.exec(readFileSync(file, "utf8"))?.[1]
    : Bun.spawnSync(["ps", "-o", "caught=", "-p", String(pid)])
        .stdout.toString()
        .trim();
  return (BigInt(`0x${mask || 0}`) & 2n) !== 0n;
}

describe.each(["sqlite", "postgres"])("an import on %s", (engine) => {
  let env: Record<string, string>;
  let data: Data;
  let sites = 0;
  beforeAll(async () => {
    const url = engine === "sqlite" ? workspace.database : await postgres.createDatabase();
    env = { STOREFRONT_DATABASE: url };
    data = dataOf(url);
  });

  async function newSite(): Promise<string> {
    const name = `site-${++sites}`;
    await data.addSite(name);
    return name;
  }
  const stored = async (site: string) => (await data.brands(site)).length;
  const startImport = (site: string, file: string, ...more: string[]) =>
    workspace.start(["import", "--site", site, "brands", file, "--json", ...more], { env });

  async function interrupt(started: Started, signal: NodeJS.Signals) {
    started.kill(signal);
    const code = await started.exited;
    return { code, summary: JSON.parse(started.stdout()), stderr: started.stderr() };
  }

  // Signals don't depend on the engine, so the other engine only needs one of them.
  const tried = engine === "sqlite" ? signals : signals.slice(0, 1);
  test.each(tried)("waiting for a pipe is ended by %s", async (signal) => {
    const site = await newSite();
    const started = startImport(site, "-");
    started.write(`Name\n${rows(1200)}`);
    await waitUntil(async () => (await stored(site)) === 1000, "the first 1000 rows");
    const { code, summary, stderr } = await interrupt(started, signal);
    const counts = { created: 1000, updated: 0, unchanged: 0, rejected: 0, faults: [], interrupted: true };
    expect([code, summary]).toMatchObject([1, counts]);
    // The rows the import had read.
    expect(summary.rows).toBeWithin(1000, 1201);
    expect(stderr).toContain("interrupted: the rows not counted above were not stored");
    expect(await stored(site)).toBe(1000);
  });

  test("storing rows commits its current batch, then ends", async () => {
    const site = await newSite();
    writeFileSync(workspace.file("many.csv"), `Name\n${rows(200_000)}`);
    const started = startImport(site, workspace.file("many.csv"));
    await waitUntil(async () => (await stored(site)) > 0, "the first rows");
    const { code, summary } = await interrupt(started, "SIGINT");
    expect([code, summary.interrupted]).toEqual([1, true]);
    expect(summary.created).toBeLessThan(200_000);
    expect(await stored(site)).toBe(summary.created);
  });

  test.each([["--atomic"], ["--dry-run"]])("with %s stores nothing", async (option) => {
    const site = await newSite();
    const started = startImport(site, "-", option);
    started.write(`Name\n${rows(700)}`);
    await waitUntil(() => isReady(started), "the command to be ready");
    const { code, summary } = await interrupt(started, "SIGINT");
    expect([code, summary.interrupted]).toEqual([1, true]);
    if (option === "--atomic") expect(summary).toMatchObject({ created: 0, updated: 0 });
    expect(await stored(site)).toBe(0);
  });

  test("with --atomic stores all rows or none, whenever it's interrupted, and reports which", async () => {
    writeFileSync(workspace.file("atomic.csv"), `Name\n${rows(10_000)}`);
    const open = async () => {
      const site = await newSite();
      const started = startImport(site, workspace.file("atomic.csv"), "--atomic");
      await waitUntil(() => isReady(started), "the command to be ready");
      return { site, started };
    };
    const first = await open();
    const begun = performance.now();
    expect(await first.started.exited).toBe(0);
    const whole = performance.now() - begun;
    for (const part of [0, 0.3, 0.7]) {
      const { site, started } = await open();
      await letPass(part * whole);
      const { code, summary } = await interrupt(started, "SIGINT");
      expect([0, 10_000]).toContain(summary.created);
      expect([code, summary.interrupted]).toEqual(summary.created === 0 ? [1, true] : [0, false]);
      expect(await stored(site)).toBe(summary.created);
    }
  });

  test("whose transaction has to wait is ended at once by a second signal", async () => {
    const site = await newSite();
    const release = await blockWrites();
    try {
      const started = startImport(site, "-");
      started.write(`Name\n${rows(500)}`);
      await waitUntil(() => isReady(started), "the command to be ready");
      started.kill("SIGINT");
      await waitUntil(() => /again to stop now/.test(started.stderr()), "the first signal");
      await letPass(repeatWithinMs);
      started.kill("SIGINT");
      expect(await started.exited).toBe(1);
    } finally {
      await release();
    }
    expect([0, 500]).toContain(await stored(site));
  });

  /** Blocks every write. Returns a function that lets them go on. */
  async function blockWrites(): Promise<() => unknown> {
    if (engine === "postgres") {
      await postgres.signal("SIGSTOP");
      return () => postgres.signal("SIGCONT");
    }
    const holder = openSqliteFile(workspace.database);
    holder.run("begin immediate");
    return () => holder.close();
  }
});

test("an interrupted undo in chunks reports where it stopped, and the command for the rest", async () => {
  const count = 50_001;
  await workspace.data.addSite("large");
  const site = await workspace.data.use(async (engine) => {
    const { ID } = await getSite(engine, "large");
    const batches = function* () {
      for (let from = 0; from < count; from += 500)
        yield Array.from({ length: Math.min(500, count - from) }, () => createIntent({ site: ID, run: "all" }));
    };
    await engine.commitAtomically(batches(), () => {});
    return ID;
  });
  using database = openSqliteFile(workspace.database);
  // From the second chunk on, each takes a second, so that the signal arrives before the last one.
  database.run(`create trigger slow after insert on journal when new.revision > ${count + 5000} begin
    select count(*) from (with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1000) select n from numbers);
  end`);
  const stored = database.query<{ revision: number }, [number]>("select revision from sites where id = ?");
  const started = workspace.start(["undo", "--site", "large", "--since", "0", "--run", "all"]);
  await waitUntil(() => (stored.get(site)?.revision ?? 0) > count, "the first chunk");
  started.kill("SIGINT");
  expect(await started.exited).toBe(1);
  database.run("drop trigger slow");
  const deleted = (stored.get(site)?.revision ?? 0) - count;
  expect([deleted % 5000, deleted < count]).toEqual([0, true]);
  expect(started.stdout()).toBe(`${deleted} records: ${deleted} deleted, 0 restored, 0 unchanged, 0 skipped\n`);
  const [, undo = ""] = /to undo this: \S+\/storefront (.*)/.exec(started.stderr()) ?? [];
  const [, done, rest = ""] =
    /interrupted after (\d+) of 50001 records; to undo the rest: \S+\/storefront (.*)/.exec(started.stderr()) ?? [];
  expect(Number(done)).toBe(deleted);
  expect(await workspace.mustRun([...rest.split(" "), "--dry-run"])).toBe(
    `${count} records: ${count - deleted} would be deleted, 0 would be restored, ${deleted} unchanged, 0 skipped\n`,
  );
  expect(await workspace.mustRun([...undo.split(" "), "--dry-run"])).toStartWith(
    `${deleted} records: 0 would be deleted, ${deleted} would be restored`,
  );
});

test("an interrupted sandbox copy says that nothing is left behind, and leaves nothing", async () => {
  await workspace.data.addSite("copied");
  const site = await workspace.data.use(async (engine) => {
    const { ID } = await getSite(engine, "copied");
    for (let batch = 0; batch < 20; batch++)
      await engine.commit(Array.from({ length: 500 }, () => createIntent({ site: ID })));
    return ID;
  });
  using database = openSqliteFile(workspace.database);
  // From the second batch on, each takes half a second, so that the signal arrives before the last of twenty even on a busy machine.
  database.run(`create trigger slow after insert on journal when new.revision > 500 begin
    select count(*) from (with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 10000) select n from numbers);
  end`);
  const copied = database.query<{ count: number }, [number]>(
    "select count(*) as count from records where resource = 'brand' and site_id > ?",
  );
  const started = workspace.start(["site", "sandbox", "copied"]);
  await waitUntil(() => (copied.get(site)?.count ?? 0) > 0, "the first batch");
  started.kill("SIGINT");
  expect(await started.exited).toBe(1);
  database.run("drop trigger slow");
  expect(started.stderr()).toContain("the copy was stopped; nothing was kept");
  expect(copied.get(site)?.count).toBe(0);
  expect(await workspace.mustRun(["site", "list"])).not.toContain("copied-sandbox");
});

test("chunks of a file that were read don't stay in memory until its end", async () => {
  const chunks: WeakRef<Uint8Array>[] = [];
  const source = (async function* () {
    for (let n = 0; n < 200; n++) {
      const chunk = new Uint8Array(1000);
      chunks.push(new WeakRef(chunk));
      yield chunk;
      await ticks();
    }
  })();
  for await (const _ of waitUntilAborted(source, new AbortController().signal)) if (chunks.length === 200) Bun.gc(true);
  expect(chunks.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThan(100);
});
