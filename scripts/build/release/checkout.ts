// A separate checkout for a release, so that the working tree doesn't change until the release is complete.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeChangelog } from "./changelog.ts";
import { changelogOf, currentVersion, type ReleasePlan } from "./readiness.ts";
import { resume, runIn } from "./run.ts";

/**
 * Calls `work` with a new checkout of the commit, which is removed afterwards.
 * @throws Error if another release of this version is running, or was killed
 */
export async function inCheckout<T>(plan: ReleasePlan, work: (folder: string) => Promise<T>): Promise<T> {
  const { root, commit, version } = plan;
  const parent = join(tmpdir(), `storefront-release-${version}`);
  if (existsSync(parent)) throw new Error(`${parent} exists; remove it if no release is running`);
  mkdirSync(parent, { mode: 0o700 });
  const folder = join(parent, "checkout");
  try {
    await runIn(root, ["git", "worktree", "add", "--quiet", "--detach", folder, commit]);
    return await work(folder);
  } finally {
    resume();
    rmSync(parent, { recursive: true, force: true });
    await runIn(root, ["git", "worktree", "prune"]);
  }
}

/** Commits the release in the checkout `folder`: the changelog, and the new version in all files that contain it. */
export async function commitRelease({ version }: ReleasePlan, folder: string, now: Date): Promise<void> {
  const previous = currentVersion(folder);
  for (const file of ["package.json", "package-lock.json", "src/client/package.json"])
    replaceIn(join(folder, file), (text) => setVersion(text, version));
  const deployed = readdirSync(join(folder, "deploy"), { withFileTypes: true }).filter((entry) => entry.isFile());
  const files = ["docs/deploying.md", ...deployed.map(({ name }) => `deploy/${name}`)];
  for (const file of files)
    replaceIn(join(folder, file), (text) => text.replaceAll(`storefront:${previous}`, `storefront:${version}`));
  const date = now.toISOString().slice(0, 10);
  writeFileSync(join(folder, "CHANGELOG.md"), closeChangelog(changelogOf(folder), version, date));
  await runIn(folder, ["npm", "run", "openapi"]);
  await runIn(folder, ["git", "commit", "--quiet", "--all", "--message", `release: ${version}`]);
}

/** Sets the package's own version, which a lock file has twice: at the top, and for the package "". */
function setVersion(text: string, version: string): string {
  const manifest = JSON.parse(text);
  manifest.version = version;
  if (manifest.packages) manifest.packages[""].version = version;
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function replaceIn(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

/**
 * Tags `commit`, and moves the branch and the working tree to it. The tag's message has the signature of SHA256SUMS, so that whoever builds the tag again gets
 * it, and only if their files are the same.
 * @throws Error without changing anything if the branch has new commits, or the working tree has changes
 */
export async function publishLocally(
  { root, tag, version }: ReleasePlan,
  commit: string,
  signature: string,
): Promise<void> {
  // Without the indentation, Git would take it for the tag's own signature.
  const message = `Storefront ${version}\n\nSignature of SHA256SUMS:\n\n${signature.trim().replace(/^/gm, "    ")}`;
  await runIn(root, ["git", "tag", "--annotate", "--message", message, tag, commit]);
  try {
    await runIn(root, ["git", "merge", "--quiet", "--ff-only", commit]);
  } catch (error) {
    resume();
    await runIn(root, ["git", "tag", "--delete", tag]);
    throw error;
  }
}

/** Returns the signature of SHA256SUMS in the tag's message. @throws Error if there's none */
export async function taggedSignature({ root, tag }: ReleasePlan): Promise<string> {
  const message = await runIn(root, ["git", "for-each-ref", "--format=%(contents)", `refs/tags/${tag}`]);
  const lines = [...message.matchAll(/^ {4}(.*)$/gm)].map(([, line]) => `${line}\n`);
  if (lines.length === 0) throw new Error(`the tag ${tag} has no signature of SHA256SUMS in its message`);
  return lines.join("");
}
