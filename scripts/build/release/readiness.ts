// Checks whether a release can be made.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { closeChangelog, sectionOf } from "./changelog.ts";
import { runIn } from "./run.ts";

/** What's known about a release before it starts. */
export interface ReleasePlan {
  readonly root: string;
  readonly version: string;
  readonly tag: string;
  /** The commit to release. Unless it's tagged, the release adds another on top. */
  readonly commit: string;
  /** The file with the private key that signs a new release. Undefined if the commit already has the tag, the version and a closed changelog. */
  readonly key: string | undefined;
}

/**
 * Checks whether `version` can be released from the checkout `root`.
 * @param key the private key's file, or undefined to build what's already tagged
 * @throws Error with the first reason why it can't
 */
export async function planRelease(root: string, version: string, key?: string): Promise<ReleasePlan> {
  if (!isVersion(version)) throw new Error(`invalid version \`${version}\`: write 1.2.3 or 1.2.3-rc.1`);
  const changes = await runIn(root, ["git", "status", "--porcelain"]);
  if (changes) throw new Error(`the working tree isn't clean; commit or discard these changes first:\n${changes}`);
  const plan = { root, version, tag: `v${version}`, commit: await runIn(root, ["git", "rev-parse", "HEAD"]), key };
  await (key ? requireNew(plan) : requireTagged(plan));
  requireGreen(plan);
  return plan;
}

async function requireNew({ root, version, tag, key }: ReleasePlan): Promise<void> {
  if (!existsSync(key as string)) throw new Error(`there's no key at ${key}; docs/releasing.md says how to create it`);
  if (!(await runIn(root, ["git", "branch", "--show-current"]))) throw new Error("check out a branch first");
  const tags = (await runIn(root, ["git", "tag", "--list", "v*"])).split("\n");
  if (tags.includes(tag)) throw new Error(`the tag ${tag} exists already`);
  const latest = tags
    .map((one) => one.slice(1))
    .sort(compareVersions)
    .at(-1) as string;
  if (compareVersions(version, latest) <= 0)
    throw new Error(`version ${version} isn't later than ${latest}; choose a higher one`);
  closeChangelog(changelogOf(root), version, "");
}

async function requireTagged({ root, version, tag, commit }: ReleasePlan): Promise<void> {
  const tagged = (await runIn(root, ["git", "tag", "--points-at", commit])).split("\n");
  if (!tagged.includes(tag))
    throw new Error(`the current commit doesn't have the tag ${tag}; check out that tag's commit`);
  if (currentVersion(root) !== version) throw new Error(`package.json has version ${currentVersion(root)}`);
  if (sectionOf(changelogOf(root), version) === undefined)
    throw new Error(`CHANGELOG.md has no section for ${version}`);
}

/** Throws unless CI has passed for the commit. `.ci/run` writes down which commit passed, if the working tree was clean. */
function requireGreen({ root, commit }: ReleasePlan): void {
  const file = join(root, "dist/ci-passed");
  const passed = existsSync(file) ? readFileSync(file, "utf8").trim() : "none";
  if (passed !== commit)
    throw new Error(`CI hasn't passed for ${commit} (last passed: ${passed}); run \`bash .ci/run\``);
}

export function currentVersion(root: string): string {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
}

export function changelogOf(root: string): string {
  return readFileSync(join(root, "CHANGELOG.md"), "utf8");
}

// A release's version is three numbers. A release candidate adds `-rc.` and a fourth.

const pattern = /^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})(?:-rc\.([1-9][0-9]{0,5}))?$/;

/** Whether `text` is a version like `1.0.0` or `1.1.0-rc.2`. */
export function isVersion(text: string): boolean {
  return pattern.test(text);
}

/**
 * Compares two versions (Semantic Versioning 2.0.0, section 11). Returns a negative number if `a` comes before `b`, and 0 if they're equal. Anything that isn't
 * a version comes before all versions.
 */
export function compareVersions(a: string, b: string): number {
  const [numbers, others] = [numbersOf(a), numbersOf(b)];
  for (const [i, number] of numbers.entries()) {
    const difference = number - (others[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Returns a version's numbers for comparison. A release gets the largest fourth number, because it comes after its candidates. */
function numbersOf(version: string): number[] {
  const [, major = -1, minor = -1, patch = -1, candidate = Number.MAX_SAFE_INTEGER] = pattern.exec(version) ?? [];
  return [major, minor, patch, candidate].map(Number);
}
