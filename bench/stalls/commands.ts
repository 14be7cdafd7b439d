// Stalls that an operator causes on the command line while the server has the large site in memory.

import { join } from "node:path";
import { get } from "./requests.ts";
import type { Stall } from "./scenarios.ts";
import type { Target } from "./target.ts";

const before = get("/restapi/brands.json");
const large = ["--site", "large"];

/** How many records the undo changes at most. */
const maxUndone = 50_000;

export const commandStalls: readonly Stall[] = [
  { name: "export", before, work: run("export", ...large, "brands", "/dev/null", "--format", "json") },
  { name: "import", before, work: importing() },
  { name: "import --atomic", before, work: importing("--atomic") },
  { name: "site sandbox", before, work: sandbox },
  { name: "site sandbox, again", before: both(before, sandbox), work: sandbox },
  { name: "undo of 50,000 records", before, work: undo },
  { name: "journal", before, work: run("journal", ...large) },
  { name: "check", before, work: run("check") },
  { name: "backup", before, work: run("backup", "/dev/null") },
  { name: "restore", before: both(before, backup), work: restore },
  { name: "export-site", before, work: run("export-site", "large", "/dev/null") },
  { name: "import-site", before: both(before, exportSite), work: importSite },
  // The server reads the 4,000 changes of one transaction at once.
  { name: "apply, 1,000 new sites", goal: 50, before, work: applySites },
  { name: "apply --check, 1,000 sites", before: both(before, applySites), work: checkSites },
  { name: "site remove", before, work: run("site", "remove", "large", "--yes") },
];

function run(...args: string[]) {
  return ({ command }: Target) => command(...args);
}

function both(first: (target: Target) => Promise<unknown>, second: (target: Target) => Promise<unknown>) {
  return (target: Target) => first(target).then(() => second(target));
}

function importing(...flags: string[]) {
  return async (target: Target) => {
    await target.command("import", ...large, "brands", target.csv, ...flags);
    // Makes the server apply the stored changes.
    await before(target);
  };
}

async function undo(target: Target) {
  await target.command("undo", ...large, "--since", String(Math.max(0, target.brands - maxUndone)));
  await before(target);
}

function sandbox(target: Target) {
  return target.command("site", "sandbox", "large");
}

/** Each with two keys and a webhook. */
const appliedSites = 1000;

async function applySites(target: Target) {
  const sites = Array.from({ length: appliedSites }, (_, n) => ({
    name: `shop${n}`,
    hostnames: [`shop${n}.test`, `www.shop${n}.test`],
    keys: [
      { label: "till", can: ["brands:write"], expires: "never" },
      { label: "warehouse", can: ["read"] },
    ],
    webhooks: [{ url: `http://127.0.0.1:9/${n}`, paused: true }],
  }));
  await Bun.write(fileIn(target, "sites.json"), JSON.stringify({ sites }, null, 2));
  await target.command("apply", fileIn(target, "sites.json"), "--yes", "--keys-to", fileIn(target, "keys.jsonl"));
}

function checkSites(target: Target) {
  return target.command("apply", fileIn(target, "sites.json"), "--check");
}

function fileIn({ folder }: Target, name: string): string {
  return join(folder, name);
}

function backup(target: Target) {
  return target.command("backup", fileIn(target, "stalls.backup"));
}

async function restore(target: Target) {
  await target.command("restore", fileIn(target, "stalls.backup"));
  await before(target);
}

function exportSite(target: Target) {
  return target.command("export-site", "large", fileIn(target, "stalls.site"));
}

function importSite(target: Target) {
  return target.command("import-site", fileIn(target, "stalls.site"), "--name", "copy");
}
