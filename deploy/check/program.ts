// Finds or builds the executable that the image and the unit run.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { run } from "./tools.ts";

const root = join(import.meta.dir, "../..");
let built: string | undefined;

/** Returns `--binary <path>`, or builds an executable for this machine. @throws if that fails */
export function findBinary(): string {
  built ??= namedBinary() ?? buildBinary();
  return built;
}

/** Returns the path from `--binary <path>`, if given. @throws Error if the file doesn't exist */
export function namedBinary(): string | undefined {
  const at = process.argv.indexOf("--binary");
  if (at < 0) return undefined;
  const path = process.argv[at + 1] ?? "";
  if (!existsSync(path)) throw new Error(`--binary ${path}: no such file`);
  return path;
}

function buildBinary(): string {
  const { status, stdout, stderr } = run(["npm", "run", "--silent", "build:binary"], { cwd: root, seconds: 300 });
  const path = stdout.trim().split("\n").at(-1);
  if (status !== 0 || !path) throw new Error(`npm run build:binary failed with status ${status}: ${stderr}`);
  return path;
}
