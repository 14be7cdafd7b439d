// If a database reports a revision and then returns older data, as a replaced primary may, we don't use the data (src/store/reads/site-views.ts). One copy of
// a database is ahead of the other, and each test decides which serves which call.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../../src/model/engine.ts";
import { brand } from "../../../../src/resources/brand.ts";
import { openEngine } from "../../../../src/store/open.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import { createIntent } from "../../../support/engine/intents.ts";
import { loadUpToDate } from "../../../support/engine/snapshots.ts";

let folder: string;
let old: Engine;
let current: Engine;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "storefront-stale-"));
  const [oldFile, currentFile] = [join(folder, "old.db"), join(folder, "current.db")];
  const first = await openEngine(`sqlite:${oldFile}`, [brand]);
  await first.commit([createIntent({ values: { Name: "old" } })]);
  await first.close();
  copyFileSync(oldFile, currentFile);
  old = await openEngine(`sqlite:${oldFile}`, [brand]);
  current = await openEngine(`sqlite:${currentFile}`, [brand]);
});
afterEach(async () => {
  await old.close();
  await current.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An engine that must be queried for the heads of sites. */
function far(parts: Partial<Engine>): Engine {
  const { checkUnchanged: _, ...engine } = current;
  return { ...engine, ...parts };
}

const write = (engine: Engine, Name: string) => engine.commit([createIntent({ values: { Name } })]);
const namesIn = async (siteViews: SiteViews) =>
  [...(await loadUpToDate(siteViews, 1)).collection(brand)].map(({ json }) => JSON.parse(json).Name);

test("database behind: a site loaded from it isn't served", async () => {
  await write(current, "new");
  const siteViews = new SiteViews(far({ readSite: old.readSite, readRecord: old.readRecord }), [brand], 1e9);
  expect(await namesIn(siteViews).catch(({ code }) => code)).toBe("unavailable");
});

test("database behind: a site waits for the changes it lacks", async () => {
  let asked = old;
  const torn = far({
    readChangesSince: (site, revision, { epoch } = {}) =>
      asked.readChangesSince(site, revision, { epoch: epoch ?? "" }),
  });
  const siteViews = new SiteViews(torn, [brand], 1e9);
  expect(await namesIn(siteViews)).toEqual(["old"]);
  await write(current, "new");
  expect(await namesIn(siteViews).catch(({ code }) => code)).toBe("unavailable");
  asked = current;
  expect(await namesIn(siteViews)).toEqual(["old", "new"]);
});

test("database behind: queried again if the site has another epoch than it reported", async () => {
  const rows = await Array.fromAsync(current.dump());
  await write(old, "of the history before");
  await current.replaceAllData(
    (async function* () {
      yield* rows;
    })(),
  );
  let loads = 0;
  const torn = far({ readSite: (...call) => (loads++ < 2 ? old : current).readSite(...call) });
  expect(await namesIn(new SiteViews(torn, [brand], 1e9))).toEqual(["old"]);
  const forEver = far({ readSite: old.readSite, readRecord: old.readRecord });
  expect(await namesIn(new SiteViews(forEver, [brand], 1e9)).catch(({ code }) => code)).toBe("unavailable");
});
