// Starts and stops servers, and measures the CPU time of their process trees.

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { descendants, memoryOf, sum, type Usage, usageOf } from "./proc.ts";

export interface Measured {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  /** Returns the process tree's CPU time so far, in microseconds. */
  cpu(): number;
  /** Returns the same, split into user mode and kernel. */
  usage(): Usage;
  /** Returns the resident memory of the largest process, which is the server and not its launcher, in bytes. */
  memory(): number;
  /** Lets all threads use the first `count` cores. A server starts out with one. Does nothing without `taskset`. */
  useCores(count: number): void;
  stop(): Promise<void>;
}

/** For a server that doesn't print its address. */
export interface Place {
  /** Where the server will listen. */
  readonly url: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** File for the server's output. */
  readonly log: string;
}

const canPin = availableParallelism() > 1 && Bun.which("taskset") !== null;
const running = new Set<Bun.Subprocess>();

/** Pins the command to a core if the machine has more than one. Servers use core 0, loads core 1. */
export function pinned(core: number, cmd: readonly string[]): string[] {
  return canPin ? ["taskset", "-c", String(core), ...cmd] : [...cmd];
}

/** Registers `child` for `endAll`. */
export function tracked<Child extends Bun.Subprocess>(child: Child): Child {
  running.add(child);
  void child.exited.then(() => running.delete(child));
  return child;
}

/** Kills all registered processes and their children, including any started in the meantime. */
export async function endAll(): Promise<void> {
  while (running.size > 0) {
    const children = [...running];
    for (const child of children) kill(descendants(child.pid));
    await Promise.all(children.map((child) => child.exited));
  }
}

/** A client in its own process. We send it lines of text, and it answers with lines of JSON. */
export interface LineClient {
  say(line: string): void;
  // biome-ignore lint/suspicious/noExplicitAny: each client says something else
  ask(line: string): Promise<any>;
  /** Closes the client's input and waits for it to exit. */
  stop(): Promise<void>;
}

/** Starts a client and waits until it's ready. @throws Error if it exits */
export async function startLineClient(cmd: readonly string[]): Promise<LineClient> {
  const child = tracked(Bun.spawn([...cmd], { stdio: ["pipe", "pipe", "inherit"] }));
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const read = async () => {
    const { value, done } = await lines.read();
    if (done) throw new Error(`${cmd.join(" ")} ended`);
    return value;
  };
  const say = (line: string) => {
    child.stdin.write(`${line}\n`);
    child.stdin.flush();
  };
  await read();
  return {
    say,
    async ask(line) {
      say(line);
      return JSON.parse(await read());
    },
    async stop() {
      child.stdin.end();
      await child.exited;
    },
  };
}

/** Starts a server whose first line of output has its address (`http://...`). */
export async function startServer(
  name: string,
  cmd: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Measured> {
  const child = tracked(
    Bun.spawn(pinned(0, cmd), {
      env: { ...process.env, STOREFRONT_ADMIN: "none", ...env },
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  const url = await firstAddress(child.stdout);
  if (!url) throw new Error(`${name} didn't start`);
  return toMeasured(name, url, child);
}

/**
 * Starts a server and waits up to two minutes for it to respond at `place.url`.
 * @throws Error with the end of the server's output if it doesn't
 */
export async function startServerAt(name: string, cmd: readonly string[], place: Place): Promise<Measured> {
  const log = Bun.file(place.log);
  const env = { ...process.env, ...place.env };
  const child = tracked(Bun.spawn(pinned(0, cmd), { cwd: place.cwd, env, stdio: ["ignore", log, log] }));
  const deadline = performance.now() + 120_000;
  while (!(await isListening(place.url))) {
    if (child.exitCode === null && performance.now() < deadline) await Bun.sleep(100);
    else throw new Error(`${name} isn't responding at ${place.url}: ${readFileSync(place.log, "utf8").slice(-500)}`);
  }
  return toMeasured(name, place.url, child);
}

/** Returns a port that's free right now. */
export function freePort(): number {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = server;
  void server.stop(true);
  return port as number;
}

function toMeasured(name: string, url: string, child: Bun.Subprocess): Measured {
  const tree = () => descendants(child.pid);
  const usage = () => sum(tree().map(usageOf));
  return {
    name,
    url,
    pid: child.pid,
    usage,
    cpu() {
      const { user, system } = usage();
      return user + system;
    },
    memory: () => Math.max(...tree().map(memoryOf)),
    useCores(count) {
      if (!canPin) return;
      for (const pid of tree()) Bun.spawnSync(["taskset", "-a", "-c", "-p", `0-${count - 1}`, String(pid)]);
    },
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => kill(tree()), 5000);
      await child.exited;
      clearTimeout(timer);
    },
  };
}

async function isListening(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
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

function kill(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has already exited.
    }
  }
}
