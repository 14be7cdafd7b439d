// Which program this is.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json" with { type: "json" };

export interface Build {
  readonly version: string;
  /** The first characters of the commit; `unknown` when there is no record of it. */
  readonly commit: string;
}

/** Replaced by the commit when the single executable is built (`scripts/build-binary.ts`), and not defined otherwise. */
declare const STOREFRONT_COMMIT: string;

/** Whether this is the single executable, which contains all files of the program. */
export const isExecutable: boolean = typeof STOREFRONT_COMMIT !== "undefined";

const root = join(import.meta.dir, "..");

/** How to start this program again in a shell: an executable as it was started, a package by its name, a checkout through npm. */
export const commandName: string = isExecutable
  ? process.argv0
  : root.includes("/node_modules/")
    ? "storefront"
    : "npx --no storefront";

/** The build of the running program. An executable contains its commit, a package has it in a file, and a checkout is asked. */
export function readBuild(): Build {
  return { version, commit: /^[0-9a-f]{12}/.exec(readCommit())?.[0] ?? "unknown" };
}

/** The commit, or any other text if there is no record of it. */
function readCommit(): string {
  if (isExecutable) return STOREFRONT_COMMIT;
  try {
    return existsSync(join(root, ".git")) ? commitOfCheckout() : readFileSync(join(root, "dist/commit"), "utf8");
  } catch {
    return "";
  }
}

function commitOfCheckout(): string {
  return Bun.spawnSync(["git", "-C", root, "rev-parse", "HEAD"]).stdout.toString();
}
