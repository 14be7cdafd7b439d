// Where a process spends its CPU time by thread and kind of code, as Linux' `perf` samples it, where it may.

import { join } from "node:path";
import { tracked } from "../process.ts";

export interface Share {
  readonly thread: string;
  readonly kind: "system" | "Bun" | "JavaScript, compiled" | "C library";
  /** Of the process's CPU time, from 0 to 1. */
  readonly share: number;
}

/** Watches `pid` for `seconds`; nothing when perf is not installed or not allowed here. */
export async function sampleShares(pid: number, seconds: number, folder: string): Promise<Share[] | undefined> {
  if (!Bun.which("perf")) return undefined;
  const file = join(folder, "perf.data");
  await run(["perf", "record", "-F", "2000", "-p", String(pid), "-o", file, "--", "sleep", String(seconds)]);
  const rows = await run(["perf", "report", "-i", file, "--no-children", "--sort", "comm,dso", "-t", ";"]);
  const shares = [...rows.matchAll(/^\s*([\d.]+)%\s*;\s*([^;]+?)\s*;\s*(\S.*?)\s*$/gm)].map(
    ([, share, thread, from]) => ({
      thread: thread as string,
      kind: kindOf(from as string),
      share: Number(share) / 100,
    }),
  );
  // Who may not watch the system is told of the rest as if it were all.
  return shares.some(({ kind }) => kind === "system") ? shares : undefined;
}

/** `from` is the file that the code is from, or perf's name for what has none. */
function kindOf(from: string): Share["kind"] {
  if (from.startsWith("[kernel")) return "system";
  if (from.startsWith("[JIT]") || from === "//anon") return "JavaScript, compiled";
  return /^(lib|ld-|\[vdso)/.test(from) ? "C library" : "Bun";
}

async function run(cmd: readonly string[]): Promise<string> {
  const child = tracked(Bun.spawn([...cmd], { stdio: ["ignore", "pipe", "ignore"] }));
  return new Response(child.stdout).text();
}
