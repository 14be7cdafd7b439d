// Which program this is.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json" with { type: "json" };

export interface Build {
  readonly version: string;
  /** The first characters of the commit; `unknown` when there is no record of it. */
  readonly commit: string;
}

const root = join(import.meta.dir, "..");

/** The build of the running program. A package has its commit in a file; a checkout is asked. */
export async function readBuild(): Promise<Build> {
  const text = await (existsSync(join(root, ".git")) ? commitOfCheckout() : commitOfPackage()).catch(() => "");
  return { version, commit: /^[0-9a-f]{12}/.exec(text)?.[0] ?? "unknown" };
}

function commitOfPackage(): Promise<string> {
  return Bun.file(join(root, "dist/commit")).text();
}

async function commitOfCheckout(): Promise<string> {
  const git = Bun.spawn(["git", "-C", root, "rev-parse", "HEAD"], { stdio: ["ignore", "pipe", "ignore"] });
  return git.stdout.text();
}
