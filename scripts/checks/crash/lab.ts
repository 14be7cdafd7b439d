// Runs the program in a folder, with the recorder.

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";

/** How long a command, or a server's start, may take. */
const maxRunMs = 60_000;

/** `at` is the position in the log when the command had ended. What it reported must be durable by then. */
export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly sent: number;
  readonly at: number;
}

export interface RunningServer {
  readonly url: string;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** The `n`-th call of a kind fails and, with `stays`, every later one too. */
export interface CallFault {
  readonly kind: "write" | "sync" | "name" | "memory";
  readonly n: number;
  readonly errno: number;
  readonly stays: boolean;
}

interface LabOptions {
  /** The compiled recorder. Without it, nothing is recorded. */
  readonly recorder?: string;
  /** src/main.ts, or its copy with a planted fault. */
  readonly main: string;
  /** The database's path below the folder. */
  readonly database: string;
  readonly fault?: CallFault;
  /** Maximum bytes for SQLite's heap, for a copy of the program that reads this limit (`heapLimit` in planted.ts). */
  readonly heapBytes?: number;
  /** Use this folder instead of a new one. */
  readonly folder?: string;
}

/** Returns the built library's path; undefined if there's no compiler, or if the recorder doesn't support this system. */
export function buildRecorder(folder: string): string | undefined {
  if (process.platform !== "linux" || !Bun.which("cc")) return undefined;
  const library = join(folder, "recorder.so");
  const source = join(import.meta.dir, "recorder.c");
  const built = Bun.spawnSync(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]);
  if (built.exitCode !== 0) throw new Error(`cc failed: ${built.stderr}`);
  return library;
}

/** A folder to run programs in. */
export class Lab {
  readonly folder: string;
  readonly database: string;
  readonly log: string;
  readonly #home = mkdtempSync(join(tmpdir(), "storefront-crash-"));
  readonly #options: LabOptions;

  constructor(options: LabOptions) {
    this.#options = options;
    this.folder = options.folder ?? mkdtempSync(join(this.#home, "files-"));
    this.database = join(this.folder, options.database);
    this.log = join(this.#home, "log");
  }

  /** The log's size. */
  get position(): number {
    return statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** How many calls of the fault's kind there have been. */
  get faultCalls(): number {
    const file = `${this.log}.count`;
    const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    return bytes.length < 8 ? 0 : Number(bytes.readBigInt64LE(0));
  }

  /** Makes the next sync of SQLite's log fail. */
  failNextSync(): void {
    writeFileSync(`${this.log}.fail`, "");
  }

  get isSyncStillToFail(): boolean {
    return existsSync(`${this.log}.fail`);
  }

  async run(...args: readonly string[]): Promise<CommandResult> {
    const sent = this.position;
    const child = Bun.spawn([process.execPath, this.#options.main, ...args], {
      env: this.#environment(),
      cwd: this.#home,
      stdout: "pipe",
      stderr: "pipe",
      timeout: maxRunMs,
      killSignal: "SIGKILL",
    });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { status: await child.exited, stdout, stderr, sent, at: this.position };
  }

  /** Like `run`. @throws Error if the command fails */
  async succeed(...args: readonly string[]): Promise<CommandResult> {
    const result = await this.run(...args);
    if (result.status !== 0) throw new Error(`\`${args.join(" ")}\` ended with ${result.status}: ${result.stderr}`);
    return result;
  }

  /** @throws Error with the server's output if it exits before it's listening */
  async serve(): Promise<RunningServer> {
    const child = Bun.spawn(
      [process.execPath, this.#options.main, "serve", "--port", "0", "--admin", "none", "--log", "silent"],
      { env: this.#environment(), cwd: this.#home, stdout: "pipe", stderr: "pipe" },
    );
    const timer = setTimeout(() => child.kill("SIGKILL"), maxRunMs);
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk);
      const [, url] = /listening on (\S+)/.exec(text) ?? [];
      if (!url) continue;
      clearTimeout(timer);
      return {
        url,
        end: async (signal) => {
          child.kill(signal);
          const late = setTimeout(() => child.kill("SIGKILL"), maxRunMs);
          await child.exited;
          clearTimeout(late);
        },
      };
    }
    clearTimeout(timer);
    throw new Error(`the server didn't start: ${await child.stderr.text()}`);
  }

  /** Opens the database in this process, without the recorder. */
  async open<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    return withEngine(this.database, work);
  }

  remove(): void {
    rmSync(this.#home, { recursive: true, force: true });
  }

  #environment(): Record<string, string> {
    const { recorder, fault, heapBytes } = this.#options;
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("STOREFRONT_"));
    return {
      ...(Object.fromEntries(inherited) as Record<string, string>),
      STOREFRONT_DATABASE: `sqlite:${this.database}`,
      ...(recorder && { LD_PRELOAD: recorder, CRASH_FOLDER: this.folder, CRASH_LOG: this.log, CRASH_SYNC_MS: "2" }),
      ...(heapBytes !== undefined && { CRASH_HEAP_BYTES: String(heapBytes) }),
      ...(fault && { CRASH_FAULT: `${fault.kind} ${fault.n} ${fault.errno} ${fault.stays ? "on" : "once"}` }),
    };
  }
}

/** Opens the database `file` with this checkout's program, as a start would. */
export async function withEngine<T>(file: string, work: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEngine(`sqlite:${file}`, allResources);
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}
