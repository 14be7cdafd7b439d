// Runs other programs: this machine's own, or from Debian packages unpacked into a temporary folder.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command for at most `seconds`. A missing program means status 127. */
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

/** Starts a program that keeps running until `stop`, which returns its stderr, or until this process exits. */
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

/** Returns a port that's free right now. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Returns the path of `program`, as installed or else from these Debian packages, which are only unpacked. Undefined if there's neither.
 * @param folder where to unpack packages
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
 * Changes addresses and paths, so that everything else in a configuration is checked as shipped.
 * @throws if the text lacks something to replace
 */
export function replaceAll(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`the configuration has no \`${from}\``);
    return changed.replaceAll(from, to);
  }, text);
}
