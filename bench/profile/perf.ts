// Samples the CPU time of a process by thread and kind of code, with `perf` of Linux, if that is permitted.

import { join } from "node:path";
import { tracked } from "../process.ts";

export interface Share {
  readonly thread: string;
  readonly kind: "system" | "Bun" | "JavaScript, compiled" | "C library";
  /** Share of the process's CPU time, from 0 to 1. */
  readonly share: number;
}

/** Samples `pid` for `seconds`. Returns undefined if perf is not installed or not permitted. */
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
  // Without permission to sample the kernel, perf reports shares of the other time only.
  return shares.some(({ kind }) => kind === "system") ? shares : undefined;
}

/** Returns the kind of code. @param from the file of the code, or perf's name for code without a file */
function kindOf(from: string): Share["kind"] {
  if (from.startsWith("[kernel")) return "system";
  if (from.startsWith("[JIT]") || from === "//anon") return "JavaScript, compiled";
  return /^(lib|ld-|\[vdso)/.test(from) ? "C library" : "Bun";
}

async function run(cmd: readonly string[]): Promise<string> {
  const child = tracked(Bun.spawn([...cmd], { stdio: ["ignore", "pipe", "ignore"] }));
  return new Response(child.stdout).text();
}
