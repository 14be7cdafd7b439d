// Reads a process tree, its CPU time and its memory from Linux's /proc.

import { readdirSync, readFileSync } from "node:fs";

/** CPU time, in microseconds. */
export interface Usage {
  readonly user: number;
  readonly system: number;
}

/** Returns the process IDs of `root` and all its descendants. */
export function descendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^[0-9]+$/.test(name)) continue;
    const parent = statOf(`/proc/${name}`)?.[1];
    if (parent === undefined) continue;
    children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)]);
  }
  const found = [root];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/** Returns the CPU time of a process and all its threads; zero if it has exited. */
export function usageOf(pid: number): Usage {
  return toUsage(statOf(`/proc/${pid}`));
}

/** Returns a process's resident memory in bytes; zero if it has exited. */
export function memoryOf(pid: number): number {
  return Number(statOf(`/proc/${pid}`)?.[21] ?? 0) * 4096;
}

/** Returns a process's peak resident memory in bytes (proc(5), `VmHWM`). */
export function peakMemoryOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

export function sum(usages: readonly Usage[]): Usage {
  return usages.reduce((a, b) => ({ user: a.user + b.user, system: a.system + b.system }), nothing);
}

const nothing: Usage = { user: 0, system: 0 };

/** Returns a `stat` file's fields after the command name; undefined if the process has exited. */
function statOf(folder: string): string[] | undefined {
  try {
    const stat = readFileSync(`${folder}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** A tick is a hundredth of a second on Linux. */
function toUsage(stat: readonly string[] | undefined): Usage {
  return stat ? { user: Number(stat[11]) * 10_000, system: Number(stat[12]) * 10_000 } : nothing;
}
