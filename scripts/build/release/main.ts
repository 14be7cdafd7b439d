// `npm run release -- 1.0.0` makes a release in dist/release from a clean checkout of the current commit. Nothing else in the working tree changes until the
// release is complete. docs/releasing.md describes the steps.

import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeArtifacts } from "./artifacts.ts";
import { commitRelease, inCheckout, publishLocally, taggedSignature } from "./checkout.ts";
import { planRelease, type ReleasePlan } from "./readiness.ts";
import { interrupt, runIn } from "./run.ts";

// Files' modes are part of archives.
process.umask(0o022);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, interrupt);

try {
  await main();
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}

async function main(): Promise<void> {
  const options = { "dry-run": { type: "boolean" }, tagged: { type: "boolean" }, sign: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [version] = positionals;
  if (positionals.length !== 1 || !version || !values.sign === !values.tagged)
    throw new Error(
      "usage: npm run release -- <version> --sign <private key file> [--dry-run]; --tagged builds a tag again",
    );
  const plan = await planRelease(process.cwd(), version, values.sign && resolve(values.sign));
  if (values["dry-run"]) return printPlan(plan);
  await inCheckout(plan, (folder) => release(plan, folder));
  printResult(plan);
}

async function release(plan: ReleasePlan, folder: string): Promise<void> {
  const log = (step: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${step}`);
  log("a clean installation");
  await runIn(folder, ["npm", "ci", "--no-audit", "--no-fund"]);
  if (plan.key) {
    log("version and changelog");
    await commitRelease(plan, folder, new Date());
  }
  const made = await makeArtifacts(plan, folder, log);
  log("signature");
  await sign(plan, folder, made);
  const next = join(plan.root, `dist/release-${process.pid}`);
  try {
    mkdirSync(join(plan.root, "dist"), { recursive: true });
    cpSync(made, next, { recursive: true });
    const released = await runIn(folder, ["git", "rev-parse", "HEAD"]);
    if (plan.key) await publishLocally(plan, released, readFileSync(join(made, "SHA256SUMS.sig"), "utf8"));
    rmSync(join(plan.root, "dist/release"), { recursive: true, force: true });
    renameSync(next, join(plan.root, "dist/release"));
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** Signs SHA256SUMS in the folder `made`, or takes the signature from the tag. @throws Error if it doesn't match */
async function sign(plan: ReleasePlan, folder: string, made: string): Promise<void> {
  const sums = join(made, "SHA256SUMS");
  if (plan.key) await runIn(made, ["ssh-keygen", "-Y", "sign", "-f", plan.key, "-n", "storefront-release", sums]);
  else writeFileSync(`${sums}.sig`, await taggedSignature(plan));
  await runIn(folder, ["scripts/verify-release", made]).catch((error: Error) => {
    const reason = plan.key
      ? "put the key's public half into scripts/verify-release, and commit that"
      : `these aren't the files that were signed:\n${readFileSync(sums, "utf8")}`;
    throw new Error(`${error.message}\n${reason}`);
  });
}

function printPlan({ version, tag, commit, key }: ReleasePlan): void {
  console.log(`${commit.slice(0, 12)} can be released as ${version}. Without --dry-run, this would:`);
  if (key) console.log(`- set the version to ${version}, close the changelog, commit and tag ${tag}`);
  console.log("- build the executables, packages, SBOM, licences and signed checksums into dist/release");
}

function printResult({ root, tag, key }: ReleasePlan): void {
  const folder = join(root, "dist/release");
  for (const name of readdirSync(folder).sort())
    console.log(`${String(statSync(join(folder, name)).size).padStart(12)}  ${name}`);
  console.log(key ? `committed and tagged ${tag}; to publish: git push --follow-tags` : `made from ${tag}`);
}
