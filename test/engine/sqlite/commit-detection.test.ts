// Detecting any process's commits: with mapped memory on Linux, with an SQLite pragma elsewhere.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../../src/store/open.ts";
import { SiteViews } from "../../../src/store/reads/site-views.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { loadUpToDate } from "../../support/engine/snapshots.ts";

const { platform } = process;

describe.each(["linux", "darwin"] as const)("the detection of commits on %s", (name) => {
  let folder: string;
  let engines: Engine[];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "storefront-watch-"));
    Object.defineProperty(process, "platform", { value: name });
    const url = `sqlite:${join(folder, "test.db")}`;
    engines = [await openEngine(url, allResources), await openEngine(url, allResources)];
  });
  afterEach(async () => {
    for (const engine of engines) await engine.close();
    Object.defineProperty(process, "platform", { value: platform });
    rmSync(folder, { recursive: true, force: true });
  });

  /** The results of two calls to an engine. */
  const twice = (engine: Engine | undefined) => [engine?.checkUnchanged?.(), engine?.checkUnchanged?.()];

  test("each process detects each commit once, and nothing else", async () => {
    const [one, other] = engines;
    expect([twice(one), twice(other)]).toEqual([
      [false, true],
      [false, true],
    ]);
    for (let round = 0; round < 3; round++) {
      for (const writer of engines) {
        await writer.commit([createIntent()]);
        expect([twice(one), twice(other)]).toEqual([
          [false, true],
          [false, true],
        ]);
      }
    }
    await readAllRows(one as Engine, 1);
    for await (const _ of other?.dump() ?? []);
    expect([twice(one), twice(other)]).toEqual([
      [true, true],
      [true, true],
    ]);
  });

  test("a read includes another process's last commit", async () => {
    const [one, other] = engines as [Engine, Engine];
    const siteViews = new SiteViews(other, allResources, 1 << 20);
    for (let revision = 1; revision < 20; revision++) {
      await one.commit([createIntent()]);
      expect((await loadUpToDate(siteViews, 1)).revision).toBe(revision);
    }
  });
});
