// The version and the commit of this program, and the command that starts it.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json" with { type: "json" };

export interface Build {
  readonly version: string;
  /** The first 12 hexadecimal digits of the commit; `unknown` if nothing tells the commit. */
  readonly commit: string;
}

/** The commit, inserted when the single executable is built (`scripts/build/binary.ts`). Otherwise this is not defined. */
declare const STOREFRONT_COMMIT: string;

/** Whether this is the single executable, which contains all files of the program. */
export const isExecutable: boolean = typeof STOREFRONT_COMMIT !== "undefined";

const root = join(import.meta.dir, "..");

/**
 * What starts this program from the current folder, as words: the executable as it was started, npx if that started it, the command of the installed package,
 * or a checkout's script.
 */
export const commandWords: readonly string[] = isExecutable
  ? [process.argv0]
  : root.includes("/_npx/")
    ? ["npx", "storefront-server"]
    : root.includes("/node_modules/")
      ? ["storefront"]
      : [process.cwd() === root ? "./storefront" : join(root, "storefront")];

/** Returns the build of the running program. The commit comes from the executable itself, from git in a checkout, or from a file of the package. */
export function readBuild(): Build {
  return { version, commit: /^[0-9a-f]{12}/.exec(readCommit())?.[0] ?? "unknown" };
}

/** Returns the commit, or any other text if nothing tells the commit. */
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
