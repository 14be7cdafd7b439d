// Starts etcd and three PostgreSQL servers under Patroni, from Debian's packages, all on this machine. In production, each node would have its own.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { freePort } from "../../../test/support/postgres/server.ts";
import { childrenOf } from "../../../test/support/programs/children.ts";

/** How long the leader's lock lasts without an update. This is the shortest Patroni allows. */
const ttl = 20;
const password = "only for this check";
const database = "storefront";
/** How long the cluster may take to recover. */
const recoveryTime = 180_000;

export interface PostgresState {
  readonly isPrimary: boolean;
  /** Streaming standbys that a commit waits for. */
  readonly syncStandbys: number;
  readonly standbys: number;
}

/** Which of a node's processes get a signal. */
export type Part = "patroni" | "postgres" | "both";

export class PatroniNode {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly #folder: string;
  readonly #user: { readonly uid: number; readonly gid: number };
  #patroni: ChildProcess | undefined;
  #log = "";

  constructor(name: string, ports: readonly [number, number], folder: string, user: PatroniNode["user"]) {
    this.name = name;
    [this.port, this.restPort] = ports;
    this.#folder = folder;
    this.#user = user;
  }

  get user(): { readonly uid: number; readonly gid: number } {
    return this.#user;
  }

  /** Whether the node's Patroni is running. */
  get isRunning(): boolean {
    return this.#patroni !== undefined && this.#patroni.exitCode === null && this.#patroni.signalCode === null;
  }

  get log(): string {
    return this.#log;
  }

  /** Starts Patroni, which starts PostgreSQL unless it's running already. */
  start(): void {
    const child = spawn("patroni", [join(this.#folder, `${this.name}.yml`)], {
      ...this.#user,
      cwd: this.#folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (part) => {
        this.#log = (this.#log + part).slice(-20_000);
      });
    }
    this.#patroni = child;
  }

  signal(part: Part, signal: NodeJS.Signals): void {
    if (part !== "postgres") this.#patroni?.kill(signal);
    if (part === "patroni") return;
    const postmaster = this.#postmaster();
    if (postmaster === undefined) return;
    // Signal the parent first, so that it doesn't start more children in between.
    for (const pid of [postmaster, ...childrenOf(postmaster)]) kill(pid, signal);
  }

  /** Runs statements as the superuser. @throws Error if the server doesn't respond within 2 s */
  async run(text: string): Promise<Record<string, unknown>[]> {
    const url = `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${this.port}/postgres`;
    const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => {}, connect_timeout: 2 });
    try {
      return [...(await within(2000, sql.unsafe(text)))];
    } finally {
      void sql.end({ timeout: 0 });
    }
  }

  /** Returns undefined if PostgreSQL doesn't respond. */
  async state(): Promise<PostgresState | undefined> {
    const [row] = await this.run(
      `select not pg_is_in_recovery() as primary, count(*) filter (where sync_state <> 'async')::int as sync, count(*)::int as all
from pg_stat_replication where state = 'streaming'`,
    ).catch(() => []);
    if (!row) return undefined;
    return { isPrimary: row.primary === true, syncStandbys: Number(row.sync), standbys: Number(row.all) };
  }

  #postmaster(): number | undefined {
    const file = join(this.#folder, this.name, "postmaster.pid");
    const pid = existsSync(file) ? Number(readFileSync(file, "utf8").split("\n")[0]) : Number.NaN;
    return Number.isInteger(pid) && existsSync(`/proc/${pid}`) ? pid : undefined;
  }
}

export interface Cluster {
  readonly nodes: readonly PatroniNode[];
  /** The database's address for the program, with all nodes. */
  readonly url: string;
  /** Returns the node that Patroni considers the leader. Without one, waits for a node with a primary. */
  leader(): Promise<PatroniNode>;
  /** Waits until one of `nodes` is the primary. */
  promoted(nodes: readonly PatroniNode[]): Promise<PatroniNode>;
  /** Waits until one of `nodes` is the primary and has the synchronous standby it needs to confirm writes. */
  ready(nodes: readonly PatroniNode[]): Promise<PatroniNode>;
  /** Restarts killed processes, resumes frozen ones, and waits until there's one primary with two standbys. */
  heal(): Promise<void>;
  switchOver(from: PatroniNode): Promise<void>;
  signalEtcd(signal: NodeJS.Signals): void;
  remove(): Promise<void>;
}

/** Returns a message about missing programs or privileges; undefined if nothing is missing. */
export function missingPrograms(): string | undefined {
  if (process.getuid?.() !== 0) return "run this as root, because PostgreSQL has to run as the user postgres";
  const isThere = ["patroni", "etcd"].every((name) => spawnSync("which", [name]).status === 0);
  if (isThere && binaries() !== undefined && postgresUser() !== undefined) return undefined;
  return "this needs Debian's packages; run `apt-get install patroni python3-etcd etcd-server postgresql`";
}

export async function startCluster(): Promise<Cluster> {
  const user = postgresUser();
  if (!user) throw new Error("there is no user postgres");
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "storefront-patroni-"));
  chownSync(folder, user.uid, user.gid);
  const etcd = await startEtcd(folder, user);
  const nodes: PatroniNode[] = [];
  for (const name of ["one", "two", "three"]) {
    const ports = [await freePort(), await freePort()] as const;
    writeFileSync(join(folder, `${name}.yml`), JSON.stringify(settings(name, ports, folder, etcd.port)));
    nodes.push(new PatroniNode(name, ports, folder, user));
  }
  for (const node of nodes) node.start();
  const cluster = clusterOf(nodes, folder, etcd.child);
  try {
    await cluster.heal();
    await (await cluster.leader()).run(`create database ${database}`);
    return cluster;
  } catch (error) {
    await cluster.remove();
    throw error;
  }
}

function clusterOf(nodes: readonly PatroniNode[], folder: string, etcd: ChildProcess): Cluster {
  const find = (among: readonly PatroniNode[], minStandbys: number) =>
    until(nodes, "a primary", async () => {
      const states = await Promise.all(among.map((node) => node.state()));
      return among[states.findIndex((state) => state?.isPrimary && state.syncStandbys >= minStandbys)];
    });
  return {
    nodes,
    url: `postgres://postgres:${encodeURIComponent(password)}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}/${database}`,
    leader: async () => (await namedLeader(nodes)) ?? find(nodes, 0),
    promoted: (among) => find(among, 0),
    ready: (among) => find(among, 1),
    async heal() {
      etcd.kill("SIGCONT");
      for (const node of nodes) node.signal("both", "SIGCONT");
      for (const node of nodes) if (!node.isRunning) node.start();
      await until(nodes, "a whole cluster", () => isWhole(nodes));
    },
    async switchOver(from) {
      const body = JSON.stringify({ leader: from.name });
      const response = await fetch(`http://127.0.0.1:${from.restPort}/switchover`, { method: "POST", body });
      if (!response.ok) throw new Error(`switchover: ${await response.text()}`);
    },
    signalEtcd: (signal) => void etcd.kill(signal),
    async remove() {
      for (const node of nodes) node.signal("both", "SIGKILL");
      etcd.kill("SIGKILL");
      await Bun.sleep(500);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether there's one primary with two standbys, and commits wait for at least one of these. */
async function isWhole(nodes: readonly PatroniNode[]): Promise<boolean> {
  const states = await Promise.all(nodes.map((node) => node.state()));
  const primaries = states.filter((state) => state?.isPrimary);
  const [primary] = primaries;
  if (states.includes(undefined) || primaries.length !== 1 || !primary) return false;
  return primary.syncStandbys > 0 && primary.standbys === 2 && (await namedLeader(nodes)) !== undefined;
}

async function namedLeader(nodes: readonly PatroniNode[]): Promise<PatroniNode | undefined> {
  const isLeader = await Promise.all(nodes.map((node) => responds(node, "leader")));
  return nodes[isLeader.indexOf(true)];
}

async function responds({ restPort }: PatroniNode, path: string): Promise<boolean> {
  const signal = AbortSignal.timeout(2000);
  return fetch(`http://127.0.0.1:${restPort}/${path}`, { signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function startEtcd(folder: string, user: PatroniNode["user"]): Promise<{ child: ChildProcess; port: number }> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const args = {
    "data-dir": join(folder, "etcd"),
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": `default=${peer}`,
    "enable-v2": "true",
  };
  const flags = Object.entries(args).map(([name, value]) => `--${name}=${value}`);
  const child = spawn("etcd", flags, { ...user, cwd: folder, stdio: "ignore" });
  const isHealthy = () =>
    fetch(`${client}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until([], "etcd", isHealthy);
  return { child, port };
}

/** Returns what docs/operating/postgresql.md recommends, without the watchdog, which would prevent some events. JSON is YAML. */
function settings(name: string, [port, restPort]: readonly [number, number], folder: string, etcdPort: number): object {
  const role = (username: string) => ({ username, password });
  return {
    scope: "storefront",
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    // Not etcd3: with it, Patroni 3.0.2 lets a suspended leader take its lock back when it resumes.
    etcd: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl,
        loop_wait: 2,
        retry_timeout: 5,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: { use_pg_rewind: true, parameters: { fsync: "off", wal_keep_size: "256MB", max_connections: 200 } },
      },
      initdb: [{ encoding: "UTF8" }, { locale: "C" }, "data-checksums"],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(folder, name),
      bin_dir: binaries(),
      pgpass: join(folder, `${name}.pgpass`),
      authentication: { superuser: role("postgres"), replication: role("replicator"), rewind: role("rewinder") },
      parameters: { unix_socket_directories: folder },
      pg_hba: ["host all all 127.0.0.1/32 scram-sha-256", "host replication replicator 127.0.0.1/32 scram-sha-256"],
    },
    watchdog: { mode: "off" },
  };
}

/** Waits until `find` returns a result. @throws Error with the nodes' last log lines if that takes too long */
async function until<T>(
  nodes: readonly PatroniNode[],
  what: string,
  find: () => Promise<T | undefined | false>,
): Promise<T> {
  for (const end = performance.now() + recoveryTime; performance.now() < end; await Bun.sleep(20)) {
    const found = await find();
    if (found) return found;
  }
  const logs = nodes.map(({ name, log }) => `${name}:\n${log.slice(-2000)}`);
  throw new Error(`timed out waiting for ${what}\n${logs.join("\n")}`);
}

/** Returns the folder with the newest installed PostgreSQL's programs. */
function binaries(): string | undefined {
  const home = "/usr/lib/postgresql";
  const versions = existsSync(home) ? readdirSync(home).filter((version) => /^[0-9]+$/.test(version)) : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest && join(home, newest, "bin");
}

function postgresUser(): PatroniNode["user"] | undefined {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  const [, , uid, gid] = lines.map((line) => line.split(":")).find(([name]) => name === "postgres") ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has already exited.
  }
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("no response")), milliseconds);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
