// Applying the feed's changes in order yields the list, for copies that follow in different ways while changes are written, undone and pruned.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Operation } from "../../src/model/change.ts";
import type { Engine } from "../../src/model/engine.ts";
import type { Head } from "../../src/model/head.ts";
import { pruneJournals } from "../../src/operator/journal/prune-journals.ts";
import { restoreRecord } from "../../src/operator/journal/restore-record.ts";
import { undo } from "../../src/operator/journal/undo.ts";
import { brand } from "../../src/resources/brand.ts";
import { readFeedPage } from "../../src/store/changes/feed.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { engines, maxCreatedSite, useEngine } from "../support/engine/engines.ts";
import { readHeadCursor } from "../support/engine/head-cursor.ts";
import { createIntent } from "../support/engine/intents.ts";

interface Write {
  readonly resource: string;
  readonly operation: Operation;
  readonly id: number;
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      operation: fc.constantFrom("create" as const, "update" as const, "delete" as const),
      id: fc.integer({ min: 1, max: 6 }),
      resource: fc.constantFrom("brand", "order-status"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("undo" as const, "restore-record" as const, "prune" as const),
      by: fc.nat(4),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("read" as const), reader: fc.nat(3) }) },
);
const reader = fc.record({
  limit: fc.integer({ min: 1, max: 5 }),
  isCollapsed: fc.boolean(),
  resources: fc.constantFrom(["brand"], ["order-status"], ["brand", "order-status"], []),
  readsAll: fc.boolean(),
});

describe.each(engines)("a copy that follows the feed on $name", (kind) => {
  let engine: Engine;
  let site = maxCreatedSite;
  useEngine(kind, (opened) => {
    engine = opened;
  });

  test("equals the list, whatever happens in between", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.array(reader, { minLength: 1, maxLength: 4 }),
        async (steps, readers) => {
          site++;
          const copies = readers.map((one) => new Copy(engine, site, one));
          let writes = 0;
          for (const one of steps) {
            if (one.kind === "read") await copies[one.reader % copies.length]?.readSome();
            else if (one.kind === "write") await write(one, ++writes);
            else await act(one.kind, one.by);
            for (const copy of copies) if (copy.settings.readsAll) await copy.readAll();
          }
          for (const copy of copies) {
            await copy.readAll();
            expect(copy.records).toEqual(await listOf(engine, site, copy.settings.resources));
            if (copy.settings.readsAll) expect(copy.restarts).toBe(0);
          }
        },
      ),
      { numRuns: kind.name === "SQLite" ? 150 : 40 },
    );
  }, 120_000);

  async function write({ resource, operation, id }: Write, count: number): Promise<void> {
    const values = operation === "delete" ? {} : { Name: `${count % 4}` };
    await engine.commit([
      createIntent({ site, resource, operation, id: operation === "create" ? undefined : id, values, at: count }),
    ]);
  }

  async function act(action: "undo" | "restore-record" | "prune", by: number): Promise<void> {
    const [head] = await engine.readHeads([site]);
    const since = Math.max(0, (head as Head).revision - by);
    const work = {
      undo: () => undo(engine, site, { since }, { at: 1 }),
      "restore-record": () => restoreRecord(engine, site, brand, by + 1, undefined, 1),
      prune: () => pruneJournals(engine, [site], { revision: since + 1 }),
    };
    // An undo is rejected if the record does not exist, or its entries were pruned.
    await work[action]().catch((error) => expect(["not-found", "conflict"]).toContain(error.code));
  }
});

async function listOf(
  engine: Engine,
  site: number,
  resources: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await readAllRows(engine, site);
  const live = rows.filter(({ resource, body }) => resources.includes(resource) && body !== null);
  return new Map(live.map(({ resource, id, body }) => [`${resource} ${id}`, body as string]));
}

/** A client's copy, kept up to date by the recipe of docs/problems/gone.md. */
class Copy {
  records: ReadonlyMap<string, string> = new Map();
  restarts = 0;
  #cursor: string | undefined;
  #isMore = true;

  constructor(
    readonly from: Engine,
    readonly site: number,
    readonly settings: { limit: number; isCollapsed: boolean; resources: readonly string[]; readsAll: boolean },
  ) {}

  async readSome(): Promise<void> {
    const { limit, isCollapsed, resources } = this.settings;
    const query = { since: this.#cursor, limit, isCollapsed, resources: new Set(resources) };
    const page = await readFeedPage(this.from, this.site, query).catch((error) => {
      expect(error.code).toBe("gone");
    });
    if (!page) return this.#startAgain();
    const records = new Map(this.records);
    for (const { change } of page.changes) {
      const name = `${change.resource} ${change.id}`;
      if (change.operation === "delete") records.delete(name);
      else records.set(name, change.body);
    }
    if (page.hasMore) expect(page.next).not.toBe(this.#cursor ?? "0.0");
    this.records = new Map([...records].sort(byName));
    this.#cursor = page.next;
    this.#isMore = page.hasMore;
  }

  async readAll(): Promise<void> {
    do await this.readSome();
    while (this.#isMore);
  }

  async #startAgain(): Promise<void> {
    this.restarts++;
    this.#cursor = await readHeadCursor(this.from, this.site);
    this.records = await listOf(this.from, this.site, this.settings.resources);
    this.#isMore = true;
  }
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}
