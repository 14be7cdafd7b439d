// Makes and inspects packages as `npm pack` makes them.

import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Packs `source` into a file in `folder` and returns its path. @param options for `npm pack` */
export async function pack(source: string, folder: string, ...options: string[]): Promise<string> {
  const command = ["npm", "pack", "--json", "--silent", ...options, "--pack-destination", folder];
  const [packed] = JSON.parse(await runOutside(command, source)) as { filename: string }[];
  return join(folder, packed?.filename ?? "");
}

/** Unpacks such a file into `folder`. */
export async function unpack(file: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await runOutside(["tar", "-xzf", file, "-C", folder, "--strip-components=1"], folder);
}

/** A package.json in one of the `node_modules` in `folder`. */
export interface Installed {
  /** Relative to `folder`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: unknown;
  /** Scripts that npm runs when it installs the package. */
  readonly installScripts: readonly string[];
}

/** Returns the packages in `folder`'s `node_modules`, at any depth. */
export function packagesIn(folder: string): Installed[] {
  const files = ["**/node_modules/*/package.json", "**/node_modules/@*/*/package.json"];
  return files
    .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(folder)])
    .map((file) => {
      const { name, version, license, scripts = {} } = JSON.parse(readFileSync(join(folder, file), "utf8"));
      const installScripts = ["preinstall", "install", "postinstall"].filter((script) => script in scripts);
      return { path: dirname(file), name, version, license, installScripts };
    });
}

export const knownLicences = ["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Unlicense"];

/** Returns the command's standard output. @param input for its standard input @throws with all its output if it fails */
export async function runOutside(command: string[], cwd: string, input = ""): Promise<string> {
  const running = Bun.spawn(command, { cwd, stdin: Buffer.from(input), stdout: "pipe", stderr: "pipe" });
  const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
  if ((await running.exited) !== 0) throw new Error(`${command.join(" ")}: ${output}${complaint}`);
  return output;
}
