// Programs that the checks run: those of this machine, or of Debian packages that are unpacked into a temporary folder.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end, for at most `seconds`. A missing program is status 127. */
export function run(command: readonly string[], options: { cwd?: string; env?: object; seconds?: number } = {}): Ran {
  const { cwd, env, seconds = 60 } = options;
  try {
    const ended = Bun.spawnSync({
      cmd: [...command],
      ...(cwd && { cwd }),
      env: { ...process.env, ...env },
      stdin: "ignore",
      timeout: seconds * 1000,
    });
    return { status: ended.exitCode ?? 124, stdout: ended.stdout.toString(), stderr: ended.stderr.toString() };
  } catch (error) {
    return { status: 127, stdout: "", stderr: String(error) };
  }
}

/** Starts a program that serves. It ends with this process at the latest; `stop` ends it and returns its output on stderr. */
export function startTool(command: readonly string[], env: object = {}): { stop(): Promise<string> } {
  const child = Bun.spawn([...command], { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  const output = child.stderr.text();
  const end = () => child.kill();
  process.once("exit", end);
  return {
    async stop() {
      process.off("exit", end);
      end();
      await child.exited;
      return output;
    },
  };
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/**
 * The path of `program`: as installed, else from the Debian packages `packages`, without installing them. Undefined if neither is there.
 * @param folder where packages are unpacked
 */
export function findProgram(program: string, packages: readonly string[], folder: string): string | undefined {
  const installed = Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
  if (installed) return installed;
  const unpacked = join(folder, "debian");
  mkdirSync(unpacked, { recursive: true });
  if (run(["apt-get", "download", ...packages], { cwd: unpacked, seconds: 120 }).status !== 0) return undefined;
  for (const file of readdirSync(unpacked).filter((name) => name.endsWith(".deb")))
    if (run(["dpkg", "-x", file, unpacked], { cwd: unpacked }).status !== 0) return undefined;
  return ["usr/bin", "usr/sbin"].map((place) => join(unpacked, place, program)).find(existsSync);
}

/**
 * `text` with each of the `replacements`. A configuration is checked as it is shipped, with only its addresses and paths changed.
 * @throws if one does not occur
 */
export function replaceAll(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`the configuration has no \`${from}\``);
    return changed.replaceAll(from, to);
  }, text);
}
