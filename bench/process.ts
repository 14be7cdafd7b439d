// A server under test: started, measured by the CPU time of its whole process tree, and ended.

import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

export interface Measured {
  readonly name: string;
  readonly url: string;
  /** CPU time of the process and all of its threads and children so far, in microseconds. */
  cpu(): number;
  /** Resident memory of the largest of them, in bytes: the one that serves, and not the launcher. */
  memory(): number;
  stop(): Promise<void>;
}

const canPin = availableParallelism() > 1 && Bun.which("taskset") !== null;

/** The command, kept on one core where the machine has several: the server on the first, the load on the second. */
export function pinned(core: number, cmd: readonly string[]): string[] {
  return canPin ? ["taskset", "-c", String(core), ...cmd] : [...cmd];
}

/** Starts a server that prints its address in the first line, as `http://...` at the end of it. */
export async function startServer(
  name: string,
  cmd: readonly string[],
  env: Record<string, string> = {},
): Promise<Measured> {
  const child = Bun.spawn({
    cmd: pinned(0, cmd),
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await firstAddress(child.stdout);
  if (!url) throw new Error(`${name} did not start`);
  const tree = () => descendants(child.pid);
  return {
    name,
    url,
    cpu: () => tree().reduce((sum, pid) => sum + cpuOf(pid), 0),
    memory: () => Math.max(...tree().map(memoryOf)),
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => tree().forEach((pid) => void process.kill(pid, "SIGKILL")), 5000);
      await child.exited;
      clearTimeout(timer);
    },
  };
}

async function firstAddress(output: ReadableStream<Uint8Array>): Promise<string | undefined> {
  let text = "";
  for await (const chunk of output) {
    text += Buffer.from(chunk).toString();
    const url = /https?:\/\/[^\s"]+/.exec(text)?.[0];
    if (url && text.includes("\n")) return url;
  }
  return undefined;
}

/** `root` and every process below it. */
function descendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^[0-9]+$/.test(name)) continue;
    const parent = statOf(Number(name))?.[1];
    if (parent === undefined) continue;
    children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)]);
  }
  const found = [root];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/** The fields of /proc/<pid>/stat after the command's name. Ticks are hundredths of a second on Linux. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function cpuOf(pid: number): number {
  const stat = statOf(pid);
  return stat ? (Number(stat[11]) + Number(stat[12])) * 10_000 : 0;
}

function memoryOf(pid: number): number {
  return Number(statOf(pid)?.[21] ?? 0) * 4096;
}
