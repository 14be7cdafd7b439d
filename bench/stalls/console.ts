// Stalls that an operator causes in the console, and that scraping the metrics causes.

import { withWriters } from "./batches.ts";
import { get } from "./requests.ts";
import type { Stall } from "./scenarios.ts";
import { operate, type Target } from "./target.ts";

const site = "/sites/large";
const before = get("/restapi/brands.json");
/** How many records the undo changes at most. */
const maxUndone = 50_000;
/** Records that one request can delete. */
const maxDeleted = 1000;
/** Edits that one request can save. */
const maxEdits = 5000;

export const consoleStalls: readonly Stall[] = [
  { name: "console: overview and a site's pages", before, work: pages(1) },
  { name: "console: 64 overviews at once", before, work: overviews },
  { name: "console: the same with 10,000 sites", contents: "10,000 sites", work: pages(3) },
  { name: "console: first search in the records", work: show(`${site}/records/brands?search=ada+9`) },
  { name: "console: further searches", before: searches, work: searches },
  { name: "console: sort by each column", before, work: sorts },
  { name: "console: last page of 1,000", before, work: lastPage },
  { name: "console: find in all sites", before, work: show("/find?text=Brand+99999+Manufacturing+Company") },
  { name: "console: find in 10,000 sites", contents: "10,000 sites", work: show("/find?text=nothing") },
  { name: "console: history, filtered", before, work: history },
  { name: "console: undo of 50,000 records, with dry run", before, work: undo },
  { name: "console: restore a record", before, work: restoreRecord },
  { name: "console: delete 1,000 records", before, work: deleteRecords },
  ...withWriters({ name: "console: save 5,000 edits", before, work: saveEdits }),
  { name: "console: upload, preview and check a file", before, work: checkImport },
  { name: "console: run an import", before: both(before, checkImport), work: runImport },
  { name: "console: export", before, work: show(`${site}/records/brands/export?format=csv`) },
  { name: "metrics", before, work: metrics },
];

function show(path: string) {
  return (target: Target) => operate(target, "GET", path);
}

function both(first: (target: Target) => Promise<unknown>, second: (target: Target) => Promise<unknown>) {
  return (target: Target) => first(target).then(() => second(target));
}

/** Reads every page's data, this many times. */
function pages(times: number) {
  return async (target: Target) => {
    const name = target.keys.large ? "large" : "small";
    for (let i = 0; i < times; i++) {
      for (const page of ["", "/overview", "/keys", "/webhooks", "/history", "/records/brands/1"])
        await operate(target, "GET", `/sites/${name}${page}`);
      for (const page of ["/sites", "/operators", "/traffic"]) await operate(target, "GET", page);
    }
  };
}

/** The cheapest way for the lowest role to cause work, ten times in a row on each of 64 connections. Beyond their share, these get a 429. */
async function overviews(target: Target) {
  const ask = async () => {
    for (let i = 0; i < 10; i++)
      await operate(target, "GET", `${site}/overview`).catch((error) => {
        if (!String(error).includes(": 429 ")) throw error;
      });
  };
  await Promise.all(Array.from({ length: 64 }, ask));
}

async function searches(target: Target) {
  for (const words of ["9", "high street 77", "a e i o u", "nothing+at+all"])
    await operate(target, "GET", `${site}/records/brands?search=${encodeURIComponent(words)}`);
}

async function sorts(target: Target) {
  for (const field of ["Name", "AccountNumber", "Address.Town"])
    for (const order of ["asc", "desc"])
      await operate(target, "GET", `${site}/records/brands?sort=${field}&order=${order}&limit=25&offset=50000`);
}

function lastPage(target: Target) {
  return operate(target, "GET", `${site}/records/brands?limit=1000&offset=${target.brands - 1000}`);
}

async function history(target: Target) {
  for (const query of ["limit=200", "single=1&limit=200", "actor=nobody", "id=1"])
    await operate(target, "GET", `${site}/history?${query}`);
}

async function undo(target: Target) {
  const since = Math.max(0, target.brands - maxUndone);
  for (const dryRun of [true, false]) await operate(target, "POST", `${site}/undo`, { since, dryRun });
}

async function restoreRecord(target: Target) {
  const changes = [{ id: target.brands, values: { Name: "Changed" } }];
  await operate(target, "POST", `${site}/records/brands/changes`, { changes });
  await operate(target, "POST", `${site}/records/brands/${target.brands}/restore`, { revision: target.brands });
}

function deleteRecords(target: Target) {
  const step = Math.max(1, Math.min(7, Math.floor(target.brands / maxDeleted)));
  const ids = Array.from({ length: Math.min(maxDeleted, target.brands) }, (_, index) => index * step + 1);
  return operate(target, "DELETE", `${site}/records/brands`, { ids });
}

function saveEdits(target: Target) {
  const changes = Array.from({ length: Math.min(maxEdits, target.brands) }, (_, index) => ({
    id: index + 1,
    values: { Name: `Edited ${index + 1}` },
  }));
  return operate(target, "POST", `${site}/records/brands/changes`, { changes });
}

const imports = new WeakMap<Target, string>();

/** In bytes. */
const partSize = 1024 * 1024;

async function checkImport(target: Target) {
  const file = await Bun.file(target.csv).bytes();
  const { id } = await operate(target, "POST", `${site}/imports`, { resource: "brands", name: "brands.csv" });
  const path = `${site}/imports/${id}`;
  imports.set(target, path);
  for (let part = 0; part * partSize < file.length; part++)
    await operate(target, "PUT", `${path}/parts/${part}`, file.subarray(part * partSize, (part + 1) * partSize));
  await operate(target, "POST", `${path}/preview`, {});
  await operate(target, "POST", `${path}/check`, { format: "csv" });
  await until(target, path, "checked");
  for (const offset of [0, 50_000, 99_000])
    await operate(target, "GET", `${path}/rows?kind=created&offset=${offset}&limit=200`);
}

async function runImport(target: Target) {
  const path = imports.get(target) as string;
  await operate(target, "POST", `${path}/run`, {});
  await until(target, path, "done");
  await before(target);
}

async function until(target: Target, path: string, wanted: string) {
  for (let state = ""; state !== wanted; await Bun.sleep(100)) {
    const progress = await operate(target, "GET", path);
    ({ state } = progress);
    if (state === "failed") throw new Error(JSON.stringify(progress.error));
  }
}

async function metrics({ adminUrl }: Target) {
  for (let i = 0; i < 20; i++) await (await fetch(`${adminUrl}/metrics`)).text();
}
