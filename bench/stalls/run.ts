// `npm run bench -- --stalls` measures how long other clients wait during the most expensive requests and commands, on both engines, and writes
// `bench/stalls.md`.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startPostgres } from "../../test/support/postgres/server.ts";
import { type Measured, startServer } from "../process.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { sampleCsv } from "../scenarios.ts";
import { writersGoal } from "./batches.ts";
import { type Databases, postgresDatabases, sqliteDatabases } from "./databases.ts";
import { startProber, type Waits } from "./prober.ts";
import { largeGoal } from "./requests.ts";
import { type Stall, stalls } from "./scenarios.ts";
import { startTarget } from "./target.ts";

export interface StallOptions {
  /** Brands in the large site. */
  readonly brands: number;
  /** Only measure stalls with this text in their engine or name. */
  readonly only: string;
  /** A short run without a report. */
  readonly smoke: boolean;
}

interface Measurement {
  /** How long the other client's requests to the server waited. */
  readonly waits: Waits;
  /** How long requests to an idle server waited at the same time. */
  readonly noise: Waits;
  /** The longest tick of the server's event loop, in milliseconds of CPU time. */
  readonly turn: number;
  /** How long the work took. */
  readonly seconds: number;
}

const header = ["engine", "meanwhile", "took", "longest", "99.9 %", "noise: longest", "99.9 %", "longest turn"];
/** How long a stall may make others wait beyond the noise, in milliseconds. If it's longer, we measure again and take the better result. */
const usualGoal = 20;
const maxMeasurements = 2;

/** Measures every stall on both engines. @returns how many couldn't be measured */
export async function benchStalls(options: StallOptions, folder: string): Promise<number> {
  const { brands, only, smoke } = options;
  await Bun.write(join(folder, "brands.csv"), sampleCsv(brands));
  const run = { ...options, folder, rows: [], failures: 0 };
  if (stallsOf("SQLite", only).length > 0) await measureEngine(run, sqliteDatabases(folder, brands));
  if (stallsOf("PostgreSQL", only).length > 0) {
    const postgres = await startPostgres({ isDurable: true });
    try {
      await measureEngine(run, postgresDatabases(postgres, brands), postgres.url("postgres"));
    } finally {
      await postgres.remove();
    }
  }
  if (!smoke && only === "") await Bun.write(join(import.meta.dir, "../stalls.md"), report(brands, run.rows));
  return run.failures;
}

function stallsOf(engine: Databases["engine"], only: string): readonly Stall[] {
  return stalls.filter(({ name }) => `${engine}: ${name}`.includes(only));
}

interface Run extends StallOptions {
  readonly folder: string;
  readonly rows: string[];
  failures: number;
}

/** @param noisy the PostgreSQL server, so that its noise counts too; undefined for SQLite */
async function measureEngine(run: Run, databases: Databases, noisy?: string): Promise<void> {
  const command = [process.execPath, join(import.meta.dir, "idle-server.ts"), ...(noisy ? [noisy] : [])];
  const idle = await startServer("idle server", command);
  idle.useCores(navigator.hardwareConcurrency);
  try {
    for (const stall of stallsOf(databases.engine, run.only)) {
      const measured = await measureAgain(stall, databases, { ...run, idle }).catch((error) => {
        run.failures++;
        console.error(`${databases.engine}, ${stall.name}: ${error.message}`);
      });
      if (!measured) continue;
      run.rows.push(rowOf(databases.engine, stall, measured));
      if (measured.waits.failures > 0) console.log(measured.waits.lastFailure);
      console.log(run.rows.at(-1));
    }
  } finally {
    await idle.stop();
  }
}

interface Surroundings extends Run {
  readonly idle: Measured;
}

async function measureAgain(stall: Stall, databases: Databases, surroundings: Surroundings) {
  const most = surroundings.smoke ? 1 : maxMeasurements;
  const measured: Measurement[] = [];
  do measured.push(await measureStall(stall, databases, surroundings));
  while (measured.length < most && measured.every((one) => beyondNoise(one) > (stall.goal ?? usualGoal)));
  return measured.toSorted((a, b) => beyondNoise(a) - beyondNoise(b))[0];
}

function beyondNoise({ waits, noise }: Measurement): number {
  return waits.longest - noise.longest;
}

async function measureStall(
  { contents = "one large site", flags = [], before, probe = "look-ups", work }: Stall,
  databases: Databases,
  { brands, folder, idle }: Surroundings,
): Promise<Measurement> {
  const own = mkdtempSync(join(folder, "stall-"));
  const setting = { flags, brands, folder: own, csv: join(folder, "brands.csv") };
  const target = await startTarget(await databases.copyOf(contents), setting);
  const site = probe === "writes" ? "large" : "small";
  const [prober, beside] = await Promise.all([
    startProber(target.url, `${site}.test`, "/restapi/brands/1.json", target.keys[site] as string, probe),
    startProber(idle.url, "idle.test", "/", ""),
  ]);
  try {
    await before?.(target);
    await Bun.sleep(300);
    await target.longestTurn();
    const begun = performance.now();
    let seconds = 0;
    let waits: Waits | undefined;
    const noise = await beside.during(async () => {
      waits = await prober.during(() => work(target).then(() => (seconds = (performance.now() - begun) / 1000)));
    });
    return { waits: waits as Waits, noise, turn: await target.longestTurn(), seconds };
  } finally {
    prober.stop();
    beside.stop();
    await target.server.stop();
    rmSync(own, { recursive: true, force: true });
  }
}

function rowOf(engine: string, { name }: Stall, { waits, noise, turn, seconds }: Measurement): string {
  const times = [waits.longest, waits.p999, noise.longest, noise.p999, turn].map((time) => time.toFixed(1));
  const failed = waits.failures > 0 ? ` (${waits.failures} of the other client's requests failed)` : "";
  return toRow([engine, name + failed, `${seconds.toFixed(1)} s`, ...times]);
}

function report(brands: number, rows: readonly string[]): string {
  return `# Stalls

${describeRun()}

The table shows how many milliseconds a look-up in a small site takes while others are busy: either one client or operator works on a site with
${brands} brands, or a hundred clients work on sites with as many in total. A prober looks up a record every 2 ms, and its wait counts from the moment
the look-up was due. In rows with "other writers", it changes a record in the large site instead. To measure the noise of the machine and the
database, a second prober asks a server that does nothing, apart from one statement on PostgreSQL. The longest turn is the longest the server's event
loop worked without a break, in CPU time of its thread, which noise doesn't affect.

No wait should be more than ${usualGoal} ms longer than the noise (${largeGoal} for a body of 1 MiB or more and for ${10 * brands} brands,
${writersGoal} for other writers). Whatever took longer was measured ${maxMeasurements} times, and the table has the best result. Commands are
separate processes that share the cores with the server.

${toTable(header, rows).join("\n")}
`;
}
