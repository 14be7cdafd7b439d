// How long other clients wait while one does its worst, on either engine. Writes `bench/stalls.md`.

import { join } from "node:path";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { startServer, tracked } from "../process.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { fillingOf } from "../scale-data.ts";
import { sampleCsv } from "../scenarios.ts";
import { startProber, type Waits } from "./prober.ts";
import { type Stall, stalls, type Target } from "./scenarios.ts";

export interface StallOptions {
  /** Brands in the large site. */
  readonly brands: number;
  /** Only the stalls whose name contains it. */
  readonly only: string;
  /** A short run that writes no page. */
  readonly smoke: boolean;
}

const root = join(import.meta.dir, "../..");

/** Measures every stall on both engines. */
export async function benchStalls({ brands, only, smoke }: StallOptions, folder: string): Promise<number> {
  const wanted = stalls.filter(({ name }) => name.includes(only));
  const csv = join(folder, "brands.csv");
  await Bun.write(csv, sampleCsv(brands));
  const rows: string[] = [];
  const add = async (engine: string, newDatabase: () => Promise<string>) => {
    for (const stall of wanted) {
      const waits = await measureStall(stall, await newDatabase(), brands, csv);
      rows.push(toRow([engine, stall.name, waits.longest.toFixed(1), waits.p999.toFixed(1), waits.p50.toFixed(2)]));
      console.log(rows.at(-1));
    }
  };
  let databases = 0;
  await add("SQLite", async () => `sqlite:${join(folder, `stall-${databases++}.db`)}`);
  const postgres = await startPostgres({ isDurable: true });
  try {
    await add("PostgreSQL", postgres.createDatabase);
  } finally {
    await postgres.remove();
  }
  if (!smoke && only === "") await Bun.write(join(root, "bench/stalls.md"), report(brands, rows));
  return 0;
}

async function measureStall(stall: Stall, database: string, brands: number, csv: string): Promise<Waits> {
  const keys = await fill(database, brands);
  const env = { STOREFRONT_DATABASE: database, STOREFRONT_LOG: "warn" };
  const server = await startServer(
    "storefront",
    ["node", join(root, "bin/storefront.js"), "serve", "--port", "0", "--admin", "none"],
    env,
  );
  const prober = startProber(server.url, "small.test", "/restapi/brands/1.json", keys.small);
  const target: Target = { url: server.url, key: keys.large, csv, command: (...args) => storefront(database, args) };
  try {
    await Bun.sleep(500);
    await stall.before?.(target);
    return await prober.during(() => stall.work(target));
  } finally {
    prober.stop();
    await server.stop();
  }
}

/** A site `small.test` with ten brands and a site `large.test` with many. */
async function fill(database: string, brands: number): Promise<{ small: string; large: string }> {
  const { keys, rows } = fillingOf([
    { name: "small", brands: 10 },
    { name: "large", brands },
  ]);
  const engine = await openEngine(database, allResources);
  try {
    await engine.refill(rows);
  } finally {
    await engine.close();
  }
  return { small: keys[0] as string, large: keys[1] as string };
}

async function storefront(database: string, args: readonly string[]): Promise<void> {
  const cmd = ["node", join(root, "bin/storefront.js"), ...args, "--database", database];
  const child = tracked(Bun.spawn(cmd, { stdio: ["ignore", "ignore", "pipe"] }));
  const problem = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`storefront ${args.join(" ")}: ${problem.slice(0, 1000)}`);
}

function report(brands: number, rows: readonly string[]): string {
  return `# Stalls

${describeRun()}

How long another client waits for a look-up in a small site, while one client or operator works on a site of ${brands} brands. A prober looks up a
record every 2 ms; a wait counts from the moment at which the look-up was due. The first row of each engine is the machine's own noise.

${toTable(["engine", "meanwhile", "longest, ms", "99.9 %, ms", "median, ms"], rows).join("\n")}
`;
}
