// `npm run release -- 1.0.0` makes a release in dist/release from a clean checkout of the current commit. Nothing else in the working tree changes until the
// release is complete. docs/releasing.md describes the steps.

import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeArtifacts } from "./artifacts.ts";
import { commitRelease, inCheckout, publishLocally } from "./checkout.ts";
import { currentVersion, planRelease, type ReleasePlan } from "./readiness.ts";
import { interrupt, runIn } from "./run.ts";

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, interrupt);

try {
  await main();
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}

async function main(): Promise<void> {
  const options = { "dry-run": { type: "boolean" }, tagged: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [version] = positionals;
  if (positionals.length !== 1 || !version)
    throw new Error("usage: npm run release -- <version> [--dry-run] [--tagged]");
  const plan = await planRelease(process.cwd(), version, values.tagged === true);
  if (values["dry-run"]) return printPlan(plan);
  await inCheckout(plan, (folder) => release(plan, folder));
  printResult(plan);
}

async function release(plan: ReleasePlan, folder: string): Promise<void> {
  const log = (step: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${step}`);
  log("a clean installation");
  await runIn(folder, ["npm", "ci", "--no-audit", "--no-fund"]);
  if (!plan.isTagged) {
    log("version and changelog");
    await commitRelease(plan, folder, new Date());
  }
  const made = await makeArtifacts(plan, folder, log);
  const next = join(plan.root, `dist/release-${process.pid}`);
  try {
    mkdirSync(join(plan.root, "dist"), { recursive: true });
    cpSync(made, next, { recursive: true });
    if (!plan.isTagged) await publishLocally(plan, await runIn(folder, ["git", "rev-parse", "HEAD"]));
    rmSync(join(plan.root, "dist/release"), { recursive: true, force: true });
    renameSync(next, join(plan.root, "dist/release"));
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

function printPlan({ root, version, tag, commit, isTagged }: ReleasePlan): void {
  console.log(`${commit.slice(0, 12)} can be released as ${version}. Without --dry-run, this would:`);
  if (!isTagged)
    console.log(`- set the version ${currentVersion(root)} to ${version}, close the changelog, commit and tag ${tag}`);
  console.log("- build the executables, packages, SBOM, licences and checksums into dist/release");
}

function printResult({ root, tag, isTagged }: ReleasePlan): void {
  const folder = join(root, "dist/release");
  for (const name of readdirSync(folder).sort())
    console.log(`${String(statSync(join(folder, name)).size).padStart(12)}  ${name}`);
  console.log(isTagged ? `made from ${tag}` : `committed and tagged ${tag}; to publish: git push --follow-tags`);
}
