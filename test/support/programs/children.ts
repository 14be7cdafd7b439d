// Finds a process's children. On Linux, it reads files, because tests ask every few milliseconds, and `ps` would be a process each time.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Returns the IDs of `pid`'s children, ascending. */
export function childrenOf(pid: number): number[] {
  const parents = existsSync("/proc/self/stat") ? parentsInFiles() : parentsByCommand();
  return parents.flatMap(([child, parent]) => (parent === pid ? [child] : [])).sort((a, b) => a - b);
}

type Parent = [child: number, parent: number];

function parentsInFiles(): Parent[] {
  const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name));
  return pids.map((pid) => [Number(pid), parentIn(`/proc/${pid}/stat`)]);
}

/** The parent's ID is the second word after the name in brackets (proc_pid_stat(5)). Returns 0 if the process is gone. */
function parentIn(file: string): number {
  try {
    const stat = readFileSync(file, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0;
  }
}

function parentsByCommand(): Parent[] {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => line.trim().split(/\s+/).map(Number) as Parent);
}
