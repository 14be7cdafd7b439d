// SQLite's writer thread, and the settings that make its commits durable.

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { copyFileSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Intent, Outcome } from "../../../src/model/change.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { knownFiles } from "../../../src/store/sqlite/files.ts";
import { openReadOnly } from "../../../src/store/sqlite/read-only.ts";
import { Writer } from "../../../src/store/sqlite/writer.ts";
import { createIntent } from "../../support/engine/intents.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "storefront-writer-"));
  path = join(folder, "test.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("connections: all flush each commit to disk, in WAL mode", () => {
  // https://sqlite.org/pragma.html#pragma_synchronous: 2 is FULL.
  using database = openDatabase(path);
  expect(database.query("pragma synchronous").get()).toEqual({ synchronous: 2 });
  expect(database.query("pragma journal_mode").get()).toEqual({ journal_mode: "wal" });
});

test("killed process's log: in the database file before anything is added", async () => {
  const engine = await openEngine(`sqlite:${path}`, allResources);
  await engine.commit([createIntent()]);
  // As after kill -9: no process has these two files open.
  const [left, alone] = [join(folder, "left.db"), join(folder, "alone.db")];
  for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${left}${suffix}`);
  await engine.close();
  expect(statSync(`${left}-wal`).size).toBeGreaterThan(0);
  const next = await openEngine(`sqlite:${left}`, allResources);
  copyFileSync(left, alone);
  const log = statSync(`${left}-wal`).size;
  const other = await openEngine(`sqlite:${alone}`, allResources);
  expect([log, await other.readHeads([1])]).toMatchObject([0, [{ revision: 1 }]]);
  await other.close();
  // It is not added while another process uses the log.
  await next.commit([createIntent()]);
  const before = statSync(`${left}-wal`).size;
  const second = await openEngine(`sqlite:${left}`, allResources);
  expect([before > 0, statSync(`${left}-wal`).size]).toEqual([true, before]);
  await Promise.all([next.close(), second.close()]);
});

describe("a writer thread that exits", () => {
  const { Worker: RealWorker } = globalThis;
  const threads: Worker[] = [];
  let engine: Engine;
  beforeEach(async () => {
    globalThis.Worker = class extends RealWorker {
      constructor(...parameters: ConstructorParameters<typeof Worker>) {
        super(...parameters);
        threads.push(this);
      }
    } as typeof Worker;
    engine = await openEngine(`sqlite:${path}`, allResources);
    await engine.commit([createIntent()]);
  });
  afterEach(async () => {
    await engine.close();
    globalThis.Worker = RealWorker;
    threads.length = 0;
  });

  test.each<[string, (thread: Worker) => void]>([
    ["by an error", (thread) => thread.postMessage(undefined)],
    ["without a word", (thread) => thread.terminate()],
  ])("%s: its writes fail, and another thread does the next", async (_, kill) => {
    kill(threads[0] as Worker);
    const failed = await Promise.allSettled([engine.commit([createIntent()]), engine.commit([createIntent()])]);
    for (const { status, reason } of failed as PromiseRejectedResult[]) {
      expect([status, reason.code]).toEqual(["rejected", "unavailable"]);
    }
    const [outcome] = await engine.commit([createIntent()]);
    expect(outcome).toMatchObject({ kind: "done", id: 2 });
    expect(threads).toHaveLength(2);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("while idle: replaced with the next write", async () => {
    threads[0]?.terminate();
    await new Promise((resolve) => threads[0]?.addEventListener("close", resolve));
    expect((await engine.commit([createIntent()]))[0]).toMatchObject({ kind: "done", id: 2 });
  });

  test.each([1, 2, 3, 4])("after batch %d of four in one transaction: nothing of them is stored", async (last) => {
    let count = 0;
    const kill = async () => {
      if (++count !== last) return;
      const thread = threads[0] as Worker;
      const ended = new Promise((resolve) => thread.addEventListener("close", resolve));
      thread.terminate();
      await ended;
    };
    expect(await failureOf(engine.commitAtomically(batchesOf(4), kill))).toBe("unavailable");
    expect(count).toBe(last);
    expect(await engine.readHeads([1])).toMatchObject([{ revision: 1 }]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test.each([1, 2, 3, 4])("after batch %d of a run of four: stored once when the client repeats it", async (last) => {
    const idempotency = { site: 1, keyId: 3, name: "a", digest: "batch:d", at: 1, replayData: "" };
    const options = { run: { id: "k3J9aZ0q", size: 12 }, idempotency };
    const thread = threads[0] as Worker;
    const ended = new Promise((resolve) => thread.addEventListener("close", resolve));
    let count = 0;
    const kill = () => {
      if (++count === last) thread.terminate();
    };
    const failure = await failureOf(engine.commitAtomically(batchesOf(4), kill, options));
    // If the run was stored before, the thread may still end, and reject what it's asked meanwhile.
    await ended;
    expect(["unavailable", "none"]).toContain(failure as string);
    const { kind } = await engine.commitAtomically(batchesOf(4), () => {}, options);
    expect(failure === "none" ? ["replayed"] : ["committed", "replayed"]).toContain(kind);
    expect(await engine.readHeads([1])).toMatchObject([{ revision: 13 }]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });
});

/** Batches of three new records each. */
const batchesOf = (count: number): Intent[][] =>
  Array.from({ length: count }, () => [createIntent(), createIntent(), createIntent()]);

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => "none",
    (error) => error.code ?? error.message,
  );
}

test("failure that ends a transaction of several batches, such as a full disk: no later batch is stored alone", async () => {
  const engine = await openEngine(`sqlite:${path}`, allResources);
  await engine.commit([createIntent()]);
  using database = new Database(path);
  database.run(
    "create trigger fails before insert on journal when new.id = 6 begin select raise(rollback, 'the disk is full'); end",
  );
  const outcomes: Outcome[] = [];
  const failure = await failureOf(engine.commitAtomically(batchesOf(4), (some) => void outcomes.push(...some)));
  expect([failure, outcomes.length]).toEqual(["SQLITE_CONSTRAINT_TRIGGER", 3]);
  expect(await engine.readHeads([1])).toMatchObject([{ revision: 1 }]);
  expect(await engine.findInconsistencies()).toEqual([]);
  database.run("drop trigger fails");
  expect((await engine.commit([createIntent()]))[0]).toMatchObject({ kind: "done", id: 2 });
  await engine.close();
});

test.each([1, 60_000])("opening the database: waits %d ms for other processes", async (timeout) => {
  // Check the statements, and not their duration, because a busy machine takes any time.
  using run = spyOn(Database.prototype, "run");
  const engine = await openEngine(`sqlite:${path}`, allResources, { timeoutMs: timeout });
  await engine.close();
  await openReadOnly(path, timeout).close();
  const asked = run.mock.calls.map(([statement]) => statement).filter((statement) => /busy_timeout/.test(statement));
  expect(asked.length).toBeGreaterThan(0);
  expect(new Set(asked)).toEqual(new Set([`pragma busy_timeout = ${timeout}`]));
});

test("locked by another process: unavailable after that time", async () => {
  using other = new Database(path, { create: true });
  other.run("begin exclusive");
  expect(await failureOf(openEngine(`sqlite:${path}`, allResources, { timeoutMs: 1 }))).toBe("unavailable");
});

test("locked by another process: can't be opened read-only either, and the error says why", async () => {
  await (await openEngine(`sqlite:${path}`, allResources)).close();
  using other = new Database(path);
  // As a process does while it's the first to open the file or the last to close it.
  other.run("pragma locking_mode = exclusive");
  other.run("begin immediate");
  expect(() => openReadOnly(path, 1)).toThrow("database is locked");
  other.close();
  await openReadOnly(path, 1).close();
});

describe("a write isn't confirmed if the database is moved away", () => {
  const moveAway = () => renameSync(path, `${path}-moved`);
  const moveBack = () => renameSync(`${path}-moved`, path);
  let engine: Engine;
  beforeEach(async () => {
    engine = await openEngine(`sqlite:${path}`, allResources);
    await engine.commit([createIntent()]);
  });
  afterEach(() => engine.close());

  test("during its transaction", () => {
    const writer = new Writer({ path, files: knownFiles(path), busyTimeoutMs: undefined });
    let reads = 0;
    const intent: Intent = {
      ...createIntent(),
      // It is read in the transaction, before anything is committed.
      get operation() {
        if (++reads === 1) moveAway();
        return "create" as const;
      },
    };
    expect(() => writer.commit([intent])).toThrow("was removed while in use");
    moveBack();
    expect(reads).toBeGreaterThan(0);
    expect(writer.commit([createIntent()])).toMatchObject([{ kind: "done" }]);
    writer.close();
  });

  test("during a transaction of several batches", async () => {
    let batches = 0;
    const onOutcomes = () => {
      if (++batches === 4) moveAway();
    };
    expect(await failureOf(engine.commitAtomically(batchesOf(4), onOutcomes))).toBe("unavailable");
    moveBack();
    expect((await engine.commit([createIntent()]))[0]).toMatchObject({ kind: "done" });
  });
});
