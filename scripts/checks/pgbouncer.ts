// `npm run check:pgbouncer` starts servers behind PgBouncer (Debian: `apt-get install pgbouncer`) in each of its modes. Either the server must refuse to start
// and name the remedy, or the conformance client must find nothing wrong while others write. Exits with 1 if one of these fails.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDemo } from "../../src/operator/sites/demo.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { password, user } from "../../test/support/postgres/data.ts";
import { postgresPrograms } from "../../test/support/postgres/programs.ts";
import { freePort, startPostgres, type TestPostgres } from "../../test/support/postgres/server.ts";
import { startProcess } from "../../test/support/programs/processes.ts";
import { addShop, request, type Shop } from "./patroni/load.ts";

const [, version] = /(\d+\.\d+)/.exec(spawnSync("pgbouncer", ["--version"], { encoding: "utf8" }).stdout ?? "") ?? [];
if (version === undefined) {
  console.error("pgbouncer isn't installed; run `apt-get install pgbouncer`");
  process.exit(2);
}
interface Case {
  readonly settings: string;
  readonly parameters?: string;
  /** What the message must contain; undefined if the server must work. */
  readonly remedy?: string;
}

/** Since 1.21, PgBouncer supports prepared statements unless that's switched off. */
const canPrepare = Number(version.split(".")[1]) >= 21;
const unprepared = canPrepare ? "pool_mode=transaction max_prepared_statements=0" : "pool_mode=transaction";
const cases: readonly Case[] = [
  { settings: "pool_mode=session" },
  { settings: unprepared, parameters: "?prepare=no" },
  { settings: unprepared, remedy: "prepare=no" },
  { settings: `${unprepared} server_round_robin=1`, remedy: "prepare=no" },
  { settings: `${unprepared} default_pool_size=1`, remedy: "prepare=no" },
  { settings: "pool_mode=statement", remedy: "pool_mode" },
  { settings: "pool_mode=statement", parameters: "?prepare=no", remedy: "pool_mode" },
  ...(canPrepare ? [{ settings: "pool_mode=transaction max_prepared_statements=100" }] : []),
];

const server = await startPostgres();
let faults = 0;
try {
  for (const each of cases) {
    const fault = await check(server, each);
    console.log(`PgBouncer ${version} ${each.settings}${each.parameters ?? ""}: ${fault ?? "ok"}`);
    if (fault) faults++;
  }
} finally {
  await server.remove();
}
process.exit(faults > 0 ? 1 : 0);

/** Returns what's wrong, if anything. */
async function check(server: TestPostgres, { settings, parameters = "", remedy }: Case): Promise<string | undefined> {
  const direct = await server.createDatabase();
  const engine = await openEngine(direct, allResources);
  const key = await createDemo(engine, Date.now());
  const busy = await addShop(engine, "busy");
  await engine.close();
  const port = await freePort();
  const pooler = await startPgBouncer(server, port, settings);
  const DATABASE = direct.replace(`:${server.port}/`, `:${port}/`) + parameters;
  try {
    const started = await startProcess({ DATABASE }).catch((error: Error) => error);
    if (started instanceof Error) return remedy && started.message.includes(remedy) ? undefined : started.message;
    const fault = remedy ? "it started" : await conformUnderLoad(started.url, String(key), busy);
    await started.end();
    return fault;
  } finally {
    pooler.kill();
  }
}

/** Starts PgBouncer with these settings, separated by spaces. Resolves once it's listening. */
async function startPgBouncer({ port, folder }: TestPostgres, listenPort: number, settings: string) {
  const { runAs } = postgresPrograms();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${port} user=${user} password='${password}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
${settings.replaceAll(" ", "\n")}
`,
    { mode: 0o644 },
  );
  const started = spawn("pgbouncer", [file], { ...runAs, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  process.on("exit", () => started.kill());
  let said = "";
  const { promise, resolve, reject } = Promise.withResolvers<ChildProcess>();
  started.stderr.on("data", (chunk) => {
    said += chunk;
    if (said.includes("process up")) resolve(started);
  });
  started.on("exit", () => reject(new Error(`PgBouncer ended:\n${said}`)));
  return promise;
}

/** Runs the conformance client while others write to `busy`. Returns what failed, if anything. */
async function conformUnderLoad(url: string, key: string, busy: Shop): Promise<string | undefined> {
  const client = join(import.meta.dir, "conformance/main.ts");
  const run = Bun.spawn([process.execPath, client, url, "--key", key, "--yes-live"], { stdout: "pipe" });
  const statuses = new Set<number>();
  const write = async () => {
    while (run.exitCode === null)
      statuses.add((await request(url, busy, "POST", "brands.json", { Name: "Acme" })).status);
  };
  const [output] = await Promise.all([run.stdout.text(), ...Array.from({ length: 8 }, write)]);
  if (run.exitCode !== 0) return output;
  return statuses.size === 1 && statuses.has(201) ? undefined : `writes got ${[...statuses]}`;
}
