// Runs the program as an operator would, in a new folder with a database file. Servers, and commands to signal, are child processes; other commands run here.

import { afterAll, afterEach, beforeAll, beforeEach } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { EngineKind } from "../engine/engines.ts";
import { waitUntil } from "../time.ts";
import { type Data, dataOf } from "./command-data.ts";
import { canRunHere, runHere } from "./own-process.ts";

const ownMain = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));

/** Runs this checkout's source, or another file. */
const ownProgram = (main = ownMain) => [process.execPath, main];

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly env?: Record<string, string>;
  /** The program's file. Default: this checkout's. */
  readonly main?: string;
  /** Whether to run a process, for tests that depend on its start or end, or on several at once. By default, only `serve` is one. */
  readonly asProcess?: boolean;
  /** File or device to append standard output or standard error to. */
  readonly to?: { readonly stdout?: string; readonly stderr?: string };
  /** Runs this instead of the program, like `sh -c`. */
  readonly wrap?: (command: string) => string;
}

/** A server started with `serve`. */
export interface Served {
  readonly url: string;
  /** Undefined without `--admin`. */
  readonly adminUrl: string | undefined;
  readonly pid: number;
  /** What it has printed on stdout. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the exit status, or 128 and the signal's number. */
  readonly exited: Promise<number>;
  kill(signal?: NodeJS.Signals): void;
}

export interface Workspace {
  readonly folder: string;
  readonly database: string;
  /** The database's contents, read without a process. */
  readonly data: Data;
  file(name: string): string;
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Returns the stdout of a command that must succeed. */
  mustRun(args: readonly string[], options?: RunOptions): Promise<string>;
  /** Runs a command on a terminal, where both outputs are shown. */
  runOnTerminal(args: readonly string[]): Promise<{ code: number; shown: string }>;
  start(args: readonly string[], options?: RunOptions): Started;
  /** Starts `serve` on a free port and waits until it's listening. */
  serve(args?: readonly string[], options?: RunOptions): Promise<Served>;
  /** Ends all processes and removes the folder. */
  close(): Promise<void>;
}

export interface Started extends Omit<Served, "url" | "adminUrl"> {
  /** Waits until its stdout matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  write(text: string): void;
  end(): void;
}

/**
 * @param url the commands' database. Default: an SQLite file in the folder
 * @param program what to run instead of the source: a file and its first arguments
 */
export function openWorkspace(url?: string, program?: readonly string[]): Workspace {
  const folder = mkdtempSync(join(tmpdir(), "storefront-command-"));
  const database = url ?? `sqlite:${join(folder, "test.db")}`;
  const running = new Set<Started>();
  const settings = { ...inherited(), STOREFRONT_DATABASE: database, STOREFRONT_ADMIN: "none" };

  function start(args: readonly string[], { stdin, env, main, wrap }: RunOptions = {}): Started {
    const cmd = [...(program ?? ownProgram(main)), ...args];
    const child = Bun.spawn({
      cmd: wrap ? ["sh", "-c", wrap(`exec ${cmd.map(quote).join(" ")}`)] : cmd,
      cwd: folder,
      env: { ...settings, ...env },
      stdin: stdin === undefined ? "pipe" : new Blob([stdin as Uint8Array<ArrayBuffer>]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const out = collect(child.stdout);
    const err = collect(child.stderr);
    const exited = Promise.all([child.exited, out.ended, err.ended]).then(([code]) => code);
    const started: Started = {
      pid: child.pid,
      stdout: out.text,
      stderr: err.text,
      exited,
      kill: (signal = "SIGTERM") => child.kill(signal),
      until: (pattern) =>
        waitUntil(() => pattern.exec(out.text()), `${pattern} on stdout`, { output: () => out.text() + err.text() }),
      write: (text) => void (child.stdin as Bun.FileSink).write(text),
      end: () => void (child.stdin as Bun.FileSink).end(),
    };
    running.add(started);
    void exited.then(() => running.delete(started));
    return started;
  }

  async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const { asProcess = args[0] === "serve", main, wrap, to, env, stdin = "" } = options;
    const canBeHere = !program && !main && !wrap && canRunHere(stdin);
    if (canBeHere && !asProcess) return runHere(args, { folder, env: { ...settings, ...env }, stdin, to });
    const started = start(args, { stdin: "", ...(to && { wrap: (command) => redirected(command, to) }), ...options });
    const code = await started.exited;
    return { code, stdout: started.stdout(), stderr: started.stderr() };
  }

  return {
    folder,
    database,
    data: dataOf(database),
    file: (name) => join(folder, name),
    start,
    run,
    async mustRun(args, options) {
      const { code, stdout, stderr } = await run(args, options);
      if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${stderr}`);
      return stdout;
    },
    async runOnTerminal(args) {
      let shown = "";
      const decoder = new TextDecoder();
      const show = (bytes: Uint8Array) => {
        shown += decoder.decode(bytes, { stream: true });
      };
      const child = Bun.spawn([...(program ?? ownProgram()), ...args], {
        cwd: folder,
        env: { ...inherited(), STOREFRONT_DATABASE: database, TERM: "xterm-256color" },
        terminal: { cols: 120, rows: 40, data: (_, bytes) => show(bytes) },
      });
      const code = await child.exited;
      child.terminal?.close();
      return { code, shown };
    },
    async serve(args = [], options = {}) {
      const started = start(["serve", "--port", "0", "--log", "silent", ...args], { stdin: "", ...options });
      const [, url = ""] = await started.until(/is listening on (\S+)/);
      const [, adminUrl] = args.includes("--admin")
        ? await started.until(/(?:Console and metrics:|admin listener is at) (\S+)/)
        : [];
      return { ...started, url, adminUrl };
    },
    async close() {
      for (const started of running) started.kill("SIGKILL");
      await Promise.all([...running].map(({ exited }) => exited));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Opens a workspace on a new database for each test of the `describe` block that calls this, and passes it to `set`. */
export function useWorkspace(kind: EngineKind, set: (workspace: Workspace) => void): void {
  let workspace: Workspace;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    workspace = openWorkspace(await kind.newDatabase());
    set(workspace);
  });
  afterEach(() => workspace.close());
  afterAll(() => kind.close());
}

/** A request with `key` to any address. */
export async function fetchWithKey(
  url: string,
  key: string,
  init: RequestInit & { tls?: object } = {},
): Promise<Response> {
  return fetch(url, { ...init, headers: { "X-API-AUTH": key, ...init.headers } });
}

/** The environment without any of our settings that happen to be there. */
function inherited(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(STOREFRONT_|PORT$)/.test(name)));
}

function collect(stream: ReadableStream<Uint8Array>) {
  let text = "";
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  };
  return { ended: read(), text: () => text };
}

/** A `wrap` for `RunOptions` that takes away root's ability to use files without permission. */
export function withoutRootCapabilities(command: string): string {
  const isRoot = process.getuid?.() === 0;
  return isRoot ? command.replace("exec ", "exec setpriv --bounding-set=-all --inh-caps=-all ") : command;
}

/** A shell command that appends standard output and standard error to files. */
function redirected(command: string, { stdout, stderr }: NonNullable<RunOptions["to"]>): string {
  return [command, stdout && `>> ${quote(stdout)}`, stderr && `2>> ${quote(stderr)}`].filter(Boolean).join(" ");
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
