// Installs npm packages that only these checks need into a temporary folder.

import { join } from "node:path";
import { run } from "./tools.ts";

/** Installs `name@version` without install scripts. Returns the package's folder; undefined if it can't be installed. */
export function installPackage(name: string, version: string, folder: string): string | undefined {
  const options = [
    "--prefix",
    folder,
    "--no-audit",
    "--no-fund",
    "--no-save",
    "--ignore-scripts",
    "--omit",
    "optional",
  ];
  const { status } = run(["npm", "install", ...options, `${name}@${version}`], { cwd: folder, seconds: 120 });
  return status === 0 ? join(folder, "node_modules", name) : undefined;
}
