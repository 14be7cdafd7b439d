// The executable that the image and the unit run.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { run } from "./tools.ts";

const root = join(import.meta.dir, "../..");
let built: string | undefined;

/** Returns the path of the executable for this machine: `--binary <path>`, or an executable that is built now. @throws if it cannot be built */
export function findBinary(): string {
  built ??= namedBinary() ?? buildBinary();
  return built;
}

/** Returns the path of `--binary <path>`; undefined without this option. @throws Error if the file does not exist */
export function namedBinary(): string | undefined {
  const at = process.argv.indexOf("--binary");
  if (at < 0) return undefined;
  const path = process.argv[at + 1] ?? "";
  if (!existsSync(path)) throw new Error(`--binary ${path}: there is no such file`);
  return path;
}

function buildBinary(): string {
  const { status, stdout, stderr } = run(["npm", "run", "--silent", "build:binary"], { cwd: root, seconds: 300 });
  const path = stdout.trim().split("\n").at(-1);
  if (status !== 0 || !path) throw new Error(`npm run build:binary ended with ${status}: ${stderr}`);
  return path;
}
