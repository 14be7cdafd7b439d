// How long other clients wait while one does its worst, on either engine. Writes `bench/stalls.md`.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startPostgres } from "../../test/support/postgres.ts";
import { type Measured, startServer } from "../process.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { sampleCsv } from "../scenarios.ts";
import { type Databases, postgresDatabases, sqliteDatabases } from "./databases.ts";
import { startProber, type Waits } from "./prober.ts";
import { type Stall, stalls } from "./scenarios.ts";
import { startTarget } from "./target.ts";

export interface StallOptions {
  /** Brands in the large site. */
  readonly brands: number;
  /** Only the stalls whose engine and name contain it. */
  readonly only: string;
  /** A short run that writes no page. */
  readonly smoke: boolean;
}

interface Measurement {
  /** Of a look-up on the server, and of a request to one that does nothing, at the same time. */
  readonly waits: Waits;
  readonly noise: Waits;
  /** The longest turn of the server's event loop, in milliseconds of CPU time. */
  readonly turn: number;
  /** How long the work took, in seconds. */
  readonly seconds: number;
}

const header = ["engine", "meanwhile", "took", "longest", "99.9 %", "noise: longest", "99.9 %", "longest turn"];
/** Waits and turns, in milliseconds, from which on a stall is measured three times, and the one with the shortest of the longest waits counts. */
const suspiciousWait = 15;
const suspiciousTurn = 15;

/** Measures every stall on both engines. @returns how many could not be measured */
export async function benchStalls(options: StallOptions, folder: string): Promise<number> {
  const { brands, only, smoke } = options;
  await Bun.write(join(folder, "brands.csv"), sampleCsv(brands));
  const idle = await startServer("idle server", ["node", join(import.meta.dir, "idle-server.mjs")]);
  idle.useCores(navigator.hardwareConcurrency);
  const postgres = await startPostgres({ isDurable: true });
  const rows: string[] = [];
  let failures = 0;
  try {
    for (const databases of [sqliteDatabases(folder, brands), postgresDatabases(postgres, brands)]) {
      for (const stall of stalls.filter(({ name }) => `${databases.engine}: ${name}`.includes(only))) {
        const measured = await measureAgain(stall, databases, { brands, folder, idle }, smoke ? 1 : 3).catch(
          (error) => {
            failures++;
            console.error(`${databases.engine}, ${stall.name}: ${error.message}`);
          },
        );
        if (!measured) continue;
        rows.push(rowOf(databases.engine, stall, measured));
        console.log(rows.at(-1));
      }
    }
  } finally {
    await postgres.remove();
    await idle.stop();
  }
  if (!smoke && only === "") await Bun.write(join(import.meta.dir, "../stalls.md"), report(brands, rows));
  return failures;
}

interface Surroundings {
  readonly brands: number;
  readonly folder: string;
  readonly idle: Measured;
}

async function measureAgain(stall: Stall, databases: Databases, surroundings: Surroundings, most: number) {
  const measured: Measurement[] = [];
  do measured.push(await measureStall(stall, databases, surroundings));
  while (measured.length < most && measured.every(isSuspicious));
  return measured.toSorted((a, b) => beyondNoise(a) - beyondNoise(b))[0];
}

function isSuspicious(measured: Measurement): boolean {
  return beyondNoise(measured) > suspiciousWait || measured.turn > suspiciousTurn;
}

function beyondNoise({ waits, noise }: Measurement): number {
  return waits.longest - noise.longest;
}

async function measureStall(
  { contents = "one large site", flags = [], before, work }: Stall,
  databases: Databases,
  { brands, folder, idle }: Surroundings,
): Promise<Measurement> {
  const own = mkdtempSync(join(folder, "stall-"));
  const setting = { flags, brands, folder: own, csv: join(folder, "brands.csv") };
  const target = await startTarget(await databases.copyOf(contents), setting);
  const prober = startProber(target.url, "small.test", "/restapi/brands/1.json", target.keys.small as string);
  const beside = startProber(idle.url, "idle.test", "/", "");
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
  return toRow([engine, name, `${seconds.toFixed(1)} s`, ...times]);
}

function report(brands: number, rows: readonly string[]): string {
  return `# Stalls

${describeRun()}

How long another client waits for a look-up in a small site, while one client or operator works on a site of ${brands} brands, in milliseconds. A
prober looks up a record every 2 ms; a wait counts from the moment at which the look-up was due. At the same time, another one asks a server that
does nothing: the noise of the machine. The longest turn is how long the event loop of the server worked without a pause at most, in CPU time of
its thread, which noise does not touch. What was more than ${suspiciousWait} ms longer than the noise, or had a turn of more than ${suspiciousTurn} ms, was measured up to
three times, and the best of them is here. Commands are processes of their own, which share the cores with the server.

${toTable(header, rows).join("\n")}
`;
}
