// The members of a process tree and the CPU time and memory that they use, as Linux reports them.

import { readdirSync, readFileSync } from "node:fs";

/** CPU time in microseconds. */
export interface Usage {
  /** In user mode. */
  readonly user: number;
  /** In the kernel. */
  readonly system: number;
}

/** `root` and every process below it. */
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

/** All threads of the process together; zero if it has ended. */
export function usageOf(pid: number): Usage {
  return toUsage(statOf(`/proc/${pid}`));
}

/** By thread name; threads with the same name are added up. */
export function threadsOf(pid: number): Map<string, Usage> {
  const threads = new Map<string, Usage>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const task = `/proc/${pid}/task/${id}`;
    const name = readFileSync(`${task}/comm`, "utf8").trim();
    threads.set(name, sum([threads.get(name) ?? nothing, toUsage(statOf(task))]));
  }
  return threads;
}

/** Resident memory in bytes. */
export function memoryOf(pid: number): number {
  return Number(statOf(`/proc/${pid}`)?.[21] ?? 0) * 4096;
}

export function sum(usages: readonly Usage[]): Usage {
  return usages.reduce((a, b) => ({ user: a.user + b.user, system: a.system + b.system }), nothing);
}

const nothing: Usage = { user: 0, system: 0 };

/** The fields of a `stat` file after the command name. */
function statOf(folder: string): string[] | undefined {
  try {
    const stat = readFileSync(`${folder}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** Ticks are hundredths of a second on Linux. */
function toUsage(stat: readonly string[] | undefined): Usage {
  return stat ? { user: Number(stat[11]) * 10_000, system: Number(stat[12]) * 10_000 } : nothing;
}
