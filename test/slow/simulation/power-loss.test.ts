// `npm run check:crash` in small: a log of what the program does to its files, made without a recorder, the images that power losses leave of it, and a
// planted fault.

import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Disk } from "../../../scripts/checks/crash/disk.ts";
import { examineLog } from "../../../scripts/checks/crash/examine.ts";
import { Expected, replaceName } from "../../../scripts/checks/crash/expected.ts";
import { withEngine } from "../../../scripts/checks/crash/lab.ts";
import type { DiskEvent } from "../../../scripts/checks/crash/log.ts";
import { addBrands, readNames } from "../../../scripts/checks/crash/story.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";

const folder = mkdtempSync(join(tmpdir(), "storefront-power-loss-"));
const database = join(folder, "shop.db");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Bytes that are compared at once. */
const blockBytes = 4096;

/** Makes the log from the differences between the files, because a process cannot observe its own calls. */
class Observer {
  readonly events: DiskEvent[] = [];
  readonly #seen = new Map<string, Uint8Array>();

  constructor() {
    this.#seen.set(database, readFileSync(database));
  }

  get position(): number {
    return this.events.length;
  }

  /** Adds what has happened since the last call: a new log of SQLite, writes, and a sync of each file that was written. */
  observe(): void {
    for (const path of [`${database}-wal`, database].filter(existsSync)) {
      if (!this.#seen.has(path)) this.#add("create", path);
      const before = this.#seen.get(path) ?? new Uint8Array(0);
      const bytes = readFileSync(path);
      const isNew = (from: number) =>
        from >= before.length ||
        Buffer.compare(before.subarray(from, from + blockBytes), bytes.subarray(from, from + blockBytes)) !== 0;
      const changed = Array.from({ length: Math.ceil(bytes.length / blockBytes) }, (_, n) => n * blockBytes).filter(
        isNew,
      );
      for (const from of changed) this.#add("write", path, from, bytes.subarray(from, from + blockBytes));
      if (changed.length > 0) this.#add("sync", path);
      this.#seen.set(path, bytes);
    }
    this.#add("sync", folder);
  }

  #add(kind: DiskEvent["kind"], path: string, offset = 0, data: Uint8Array = new Uint8Array(0)): void {
    const { length } = this.events;
    this.events.push({
      kind,
      inode: statSync(path).ino,
      offset,
      begin: length,
      path,
      other: "",
      data,
      end: length + 1,
    });
  }
}

const records = new Expected("the records");

const site = await withEngine(database, (engine) => createSite(engine, "main", { isDefault: true }, Date.now()));
const prepared = readFileSync(database);
const { ino } = statSync(database);
const disk = () => new Disk(folder, [{ path: database, inode: ino, bytes: prepared }]);
const observer = new Observer();
await withEngine(database, async (engine) => {
  for (const name of ["a", "b", "c", "d"]) {
    const sent = observer.position;
    await addBrands(engine, site.ID, [name]);
    observer.observe();
    records.add({ sent, acknowledged: observer.position, change: replaceName(undefined, name) });
  }
});
const events = observer.events;

function examine(log: readonly DiskEvent[]) {
  return examineLog({
    disk: disk(),
    events: log,
    verify: async ({ engine, position }) => records.check(await readNames(engine), position),
    story: { database: "shop.db" },
    options: { seed: 1, images: 24, until: Number.POSITIVE_INFINITY, main: "" },
  });
}

test("every image that a power loss leaves has each acknowledged write, once", async () => {
  const { images, faults } = await examine(events);
  expect(faults).toEqual([]);
  expect(images).toBeGreaterThan(10);
});

test("a log without its syncs is found: acknowledged writes are lost", async () => {
  const { faults } = await examine(events.filter(({ kind }) => kind !== "sync"));
  expect(faults.join("\n")).toContain('the records: found [], expected ["a","b"] or ["a","b","c"]');
});
