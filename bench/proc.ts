// Reads the processes of a process tree, their CPU time and their memory from /proc of Linux.

import { readdirSync, readFileSync } from "node:fs";

/** CPU time in microseconds. */
export interface Usage {
  /** In user mode. */
  readonly user: number;
  /** In the kernel. */
  readonly system: number;
}

/** Returns the IDs of `root` and of all its descendants. */
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

/** Returns the CPU time of a process, with all its threads; zero if the process has exited. */
export function usageOf(pid: number): Usage {
  return toUsage(statOf(`/proc/${pid}`));
}

/** Returns the resident memory of a process, in bytes; zero if the process has exited. */
export function memoryOf(pid: number): number {
  return Number(statOf(`/proc/${pid}`)?.[21] ?? 0) * 4096;
}

/** Returns the peak of the resident memory of a process since its start, in bytes (proc(5), `VmHWM`). */
export function peakMemoryOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

export function sum(usages: readonly Usage[]): Usage {
  return usages.reduce((a, b) => ({ user: a.user + b.user, system: a.system + b.system }), nothing);
}

const nothing: Usage = { user: 0, system: 0 };

/** Returns the fields of a `stat` file after the command name; undefined if the process has exited. */
function statOf(folder: string): string[] | undefined {
  try {
    const stat = readFileSync(`${folder}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** Converts the ticks in a `stat` file to microseconds. A tick is a hundredth of a second on Linux. */
function toUsage(stat: readonly string[] | undefined): Usage {
  return stat ? { user: Number(stat[11]) * 10_000, system: Number(stat[12]) * 10_000 } : nothing;
}
