// The executable that the image and the unit run.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { run } from "./tools.ts";

const root = join(import.meta.dir, "../..");
let built: string | undefined;

/** The path of the executable for this machine: that of `--binary <path>`, else one that is built now. @throws if it cannot be built */
export function findBinary(): string {
  const at = process.argv.indexOf("--binary");
  const named = at < 0 ? undefined : process.argv[at + 1];
  if (at >= 0 && !existsSync(named ?? "")) throw new Error(`--binary ${named}: there is no such file`);
  built ??= named ?? buildBinary();
  return built;
}

function buildBinary(): string {
  const { status, stdout, stderr } = run(["npm", "run", "--silent", "build:binary"], { cwd: root, seconds: 300 });
  const path = stdout.trim().split("\n").at(-1);
  if (status !== 0 || !path) throw new Error(`npm run build:binary ended with ${status}: ${stderr}`);
  return path;
}
