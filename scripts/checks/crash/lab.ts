// Runs the program with the recorder in a folder.

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";

/** Maximum milliseconds that a command or the start of a server may take. */
const maxRunMs = 60_000;

/** The result of a command. `at` is the position of the log when the command had ended: what it reported is durable there. */
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

/** A fault of the recorder: the `n`-th call of a kind fails, or with `stays` also each later call. */
export interface CallFault {
  readonly kind: "write" | "sync" | "name" | "memory";
  readonly n: number;
  readonly errno: number;
  readonly stays: boolean;
}

interface LabOptions {
  /** The compiled recorder; without it, nothing is recorded. */
  readonly recorder?: string;
  /** The program: src/main.ts, or that of a copy with a planted fault. */
  readonly main: string;
  /** Path of the database below the folder. */
  readonly database: string;
  readonly fault?: CallFault;
  /** Maximum bytes of the heap of SQLite, for a copy of the program that reads the limit (`heapLimit` in planted.ts). */
  readonly heapBytes?: number;
  /** An existing folder instead of a new one. */
  readonly folder?: string;
}

/** Builds the recorder. Returns the path of the library; undefined if there is no compiler, or not the system that the recorder knows. */
export function buildRecorder(folder: string): string | undefined {
  if (process.platform !== "linux" || !Bun.which("cc")) return undefined;
  const library = join(folder, "recorder.so");
  const source = join(import.meta.dir, "recorder.c");
  const built = Bun.spawnSync(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]);
  if (built.exitCode !== 0) throw new Error(`cc failed: ${built.stderr}`);
  return library;
}

/** A folder in which programs run. */
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

  /** The size of the log. */
  get position(): number {
    return statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Number of calls of the kind of the fault so far. */
  get faultCalls(): number {
    const file = `${this.log}.count`;
    const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    return bytes.length < 8 ? 0 : Number(bytes.readBigInt64LE(0));
  }

  /** Lets the next sync of the log of SQLite fail. */
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

  /** Starts a server. @throws Error with its output if it ends before it listens */
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
      const [, url] = /listens on (\S+)/.exec(text) ?? [];
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
    throw new Error(`the server did not start: ${await child.stderr.text()}`);
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

/** Opens the database `file` with the program of this checkout, as a start does. */
export async function withEngine<T>(file: string, work: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEngine(`sqlite:${file}`, allResources);
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}
