// A real PostgreSQL server for tests, with its own data.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { childrenOf } from "../programs/children.ts";
import { ticks, waitUntil } from "../time.ts";
import { homeOfData, newData, password, standbyData, user } from "./data.ts";
import { databasesAt, type PostgresDatabases } from "./databases.ts";
import { postgresPrograms } from "./programs.ts";

export interface PostgresOptions {
  /** Server settings, such as `max_connections`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** This standby's primary, which mustn't be running yet. */
  readonly standbyOf?: TestPostgres;
  /** Whether commits wait for the disk. By default they don't, because tests kill processes, not machines. */
  readonly isDurable?: boolean;
  /** Data folder. Default: a new one. */
  readonly folder?: string;
}

export interface TestPostgres extends PostgresDatabases {
  readonly port: number;
  readonly folder: string;
  /** Starts or restarts it. `settings` apply until the next start. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Stops it with SIGINT, which disconnects all clients. */
  halt(): Promise<void>;
  /** Signals the whole server at once, as if its machine died (SIGKILL) or hung (SIGSTOP, SIGCONT). */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Ends our connections, and waits until this process has noticed. */
  disconnect(): Promise<void>;
  /** Its output so far. */
  log(): string;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

/** Creates a server on 127.0.0.1 without starting it. */
export async function makePostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const { postgres: program, runAs } = postgresPrograms();
  const port = await freePort();
  const folder = options.folder ?? mkdtempSync(join(homeOfData(options.isDurable ?? false), "storefront-pg-"));
  const data = options.standbyOf ? standbyData(join(options.standbyOf.folder, "data"), folder) : newData(folder);
  let child: ChildProcess | undefined;
  let said = "";

  /** Starts the server. Retries for up to 30 s while a killed server's processes are still around, or another program uses the port. */
  async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    for (const giveUpAt = Date.now() + 30_000; ; await Bun.sleep(100)) {
      const start = said.length;
      try {
        return await launch(settings);
      } catch (error) {
        const isInUse = /pre-existing shared memory block|could not bind/.test(said.slice(start));
        if (Date.now() > giveUpAt || !isInUse) throw error;
      }
    }
  }

  function launch(settings: Readonly<Record<string, string>>): Promise<void> {
    const all = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      ...(options.isDurable ? {} : { fsync: "off", full_page_writes: "off" }),
      ...(options.standbyOf ? { primary_conninfo: followed(options.standbyOf) } : {}),
      ...options.settings,
      ...settings,
    };
    const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const started = spawn(program, ["-D", data, "-p", String(port), ...flags], {
      ...runAs,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    child = started;
    started.stderr?.on("data", (chunk) => {
      said += chunk;
      if (/ready to accept (read-only )?connections/.test(String(chunk))) resolve();
    });
    started.on("exit", () => {
      if (child === started) child = undefined;
      reject(new Error(`the PostgreSQL server ended:\n${said.slice(-2000)}`));
    });
    promise.catch(() => {});
    return promise;
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = child;
    if (!ending) return;
    const ended = new Promise((resolve) => ending.on("exit", resolve));
    if (signal === "SIGKILL") killAll(ending.pid as number, signal);
    else ending.kill(signal);
    await ended;
  }

  process.on("exit", () => child && killAll(child.pid as number, "SIGKILL"));

  const databases = databasesAt(port);
  return {
    ...databases,
    port,
    folder,
    start,
    halt: () => end("SIGINT"),
    async signal(signal) {
      if (signal === "SIGKILL") await end(signal);
      else if (child) killAll(child.pid as number, signal);
    },
    async disconnect() {
      const ours = "from pg_stat_activity where application_name = 'storefront'";
      const sessions = await databases.run(`select pid, pg_terminate_backend(pid) ${ours}`);
      const isRunning = (pid: unknown) => childrenOf(child?.pid as number).includes(pid as number);
      await waitUntil(() => !sessions.some(({ pid }) => isRunning(pid)), "the end of the sessions");
      // The kernel has closed their sockets.
      await ticks(10);
    },
    log: () => said,
    async remove() {
      await end("SIGINT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const server = await makePostgres(options);
  await server.start();
  return server;
}

export interface PostgresPair {
  readonly primary: TestPostgres;
  readonly standby: TestPostgres;
  /** Creates a database, and returns its address on both servers. */
  readonly url: string;
  /** Stops both and removes their data. */
  remove(): Promise<void>;
}

/** A primary that acknowledges nothing its standby doesn't have. */
export async function startPostgresPair(): Promise<PostgresPair> {
  const primary = await makePostgres();
  const standby = await makePostgres({ standbyOf: primary });
  await primary.start();
  await standby.start();
  await primary.run("alter system set synchronous_standby_names = '*'");
  await primary.run("select pg_reload_conf()");
  const streaming = () => primary.run("select 1 from pg_stat_replication where sync_state = 'sync'");
  for (let tries = 0; (await streaming()).length === 0; tries++) {
    if (tries === 400) throw new Error("the standby does not follow");
    await Bun.sleep(50);
  }
  const name = /[^/]+$/.exec(await primary.createDatabase())?.[0] as string;
  return {
    primary,
    standby,
    url: primary.url(name, `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`),
    async remove() {
      // A suspended process wouldn't exit.
      for (const server of [primary, standby]) await server.signal("SIGCONT");
      await standby.remove();
      await primary.remove();
    },
  };
}

function followed({ port }: TestPostgres): string {
  return `host=127.0.0.1 port=${port} user=${user} password='${password}'`;
}

/** A free port on 127.0.0.1. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/** A server is a parent process with children. */
function killAll(parent: number, signal: NodeJS.Signals): void {
  for (const pid of [parent, ...childrenOf(parent)]) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has exited in the meantime.
    }
  }
}
