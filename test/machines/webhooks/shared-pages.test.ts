// Pages that a site's webhooks share (src/webhooks/shared-pages.ts).

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import type { WebhookState } from "../../../src/model/webhooks.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { revisionInCursor } from "../../../src/store/database/cursor.ts";
import { openEngine } from "../../../src/store/open.ts";
import { SharedPages } from "../../../src/webhooks/shared-pages.ts";

let folder: string;
let engine: Engine;
let site: number;
let now: number;
let reads: number;
let pages: SharedPages;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-pages-"));
  engine = await openEngine(`sqlite:${join(folder, "test.db")}`, allResources);
  site = (await createSite(engine, "shop", {}, Date.now())).ID;
  const brand = { site, resource: "brand", operation: "create", actor: "sfk_x", at: Date.now() } as const;
  await engine.commit(Array.from({ length: 150 }, () => ({ ...brand, valuesJson: '{"Name":"A"}' })));
  [now, reads] = [0, 0];
  const counted: Pick<Engine, "readJournalPage"> = {
    readJournalPage(...args) {
      reads++;
      return engine.readJournalPage(...args);
    },
  };
  pages = new SharedPages(counted, new Map(allResources.map((resource) => [resource.name, resource])), {
    monotonicMs: () => now,
  });
});
afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Reads as a webhook at `cursor`. @returns the page, and how many reads it took */
async function readAt(cursor: string, limit = 100, resources: ReadonlySet<string> = new Set(["brand"])) {
  const [{ epoch } = { epoch: "" }] = await engine.readHeads([site]);
  reads = 0;
  const page = await pages.read({ site, epoch, cursor } as WebhookState, { limit, resources });
  const list = JSON.parse(`[${page.changes}]`).map(({ Revision }: { Revision: number }) => Revision);
  return { ...page, reads, from: list[0], to: list.at(-1), end: revisionInCursor(page.next) };
}

test("shared page: read once within a second", async () => {
  expect(await readAt("0.0")).toMatchObject({ reads: 1, first: 1, from: 1, to: 100, hasMore: true });
  now = 1000;
  expect(await readAt("0.0")).toMatchObject({ reads: 0, first: 1, from: 1, to: 100, hasMore: true });
  now = 1001;
  expect(await readAt("0.0")).toMatchObject({ reads: 1 });
});

test("shared page: not for other resources, and not the last one", async () => {
  const { next } = await readAt("0.0");
  expect(await readAt("0.0", 100, new Set(["brand", "store"]))).toMatchObject({ reads: 1 });
  for (let i = 0; i < 2; i++)
    expect(await readAt(next)).toMatchObject({ reads: 1, from: 101, to: 150, hasMore: false });
});

test("shared page: ends pages that start inside it", async () => {
  const { next } = await readAt("0.0", 30);
  now = 1001;
  await readAt("0.0");
  const joining = await readAt(next);
  expect(joining).toMatchObject({ from: 31, to: 100, end: 100 });
  await readAt(joining.next, 20);
  expect(await readAt(joining.next, 20)).toMatchObject({ reads: 0, from: 101, to: 120 });
});
