// Measures how soon a server responds to its first look-up, and how much memory it takes at rest. Runs the command that users run, with Node's launcher and
// the console's listener, on SQLite. For comparison, it also runs a script that does nothing.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { descendants, memoryOf } from "../proc.ts";
import { freePort, tracked } from "../process.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { makeSite, runStorefront, type Site } from "../site.ts";
import { median, toSpread, total } from "../statistics.ts";

interface Started {
  readonly milliseconds: number;
  /** Returns the process tree's resident memory, in bytes. */
  memory(): number;
  stop(): Promise<void>;
}

const startsPerRound = 5;
const restSeconds = 10;
const program = join(import.meta.dir, "../../bin/storefront.js");
const header = ["", "first response, ms", "memory then", `memory ${restSeconds} s later`];

/** @returns the number of failed requests, which is 0 unless this throws */
export async function benchStart(
  { rounds, smoke }: { readonly rounds: number; readonly smoke: boolean },
  folder: string,
) {
  const starts = smoke ? 1 : rounds * startsPerRound;
  const site = await makeSite(folder, 100);
  const rows = [
    await measure("Bun, empty script", starts, () => startScript(process.execPath)),
    await measure("Node, empty script", starts, () => startScript("node")),
    await measure("1 site", starts, () => startServer(site)),
  ];
  await addSites(site, folder, 999);
  rows.push(await measure("1,000 sites", starts, () => startServer(site)));
  console.log([describeRun(), "", ...toTable(header, rows)].join("\n"));
  return 0;
}

/** @returns a row of the table */
async function measure(name: string, starts: number, start: () => Promise<Started>): Promise<string> {
  // The first start isn't counted, because it reads the program from the disk.
  await (await start()).stop();
  const times: number[] = [];
  const memory: number[] = [];
  let started: Started | undefined;
  for (let count = 0; count < starts; count++) {
    await started?.stop();
    started = await start();
    times.push(started.milliseconds);
    memory.push(started.memory());
  }
  await Bun.sleep(restSeconds * 1000);
  const sizes = [median(memory), started?.memory() ?? 0].map((bytes) => `${Math.round(bytes / 2 ** 20)} MiB`);
  await started?.stop();
  return toRow([name, toSpread(times, (time) => time.toFixed(0)), ...sizes]);
}

function startServer({ database, key }: Site): Promise<Started> {
  const port = freePort();
  const options = ["--port", String(port), "--admin", "127.0.0.1:0", "--database", database];
  const request = new Request(`http://127.0.0.1:${port}/restapi/brands/1.json`, { headers: { "X-API-AUTH": key } });
  return start(["node", program, "serve", ...options], async () => {
    while (!(await fetch(request).catch(() => undefined))?.ok) await Bun.sleep(1);
  });
}

function startScript(runtime: string): Promise<Started> {
  return start([runtime, "-e", "console.log('ready'); setTimeout(() => {}, 60_000)"], async ({ stdout }) => {
    await stdout.getReader().read();
  });
}

async function start(
  cmd: string[],
  untilReady: (child: Bun.Subprocess<"ignore", "pipe", "inherit">) => Promise<void>,
): Promise<Started> {
  const begun = performance.now();
  const child = tracked(Bun.spawn(cmd, { stdio: ["ignore", "pipe", "inherit"] }));
  await Promise.race([untilReady(child), child.exited.then(() => Promise.reject(new Error(`${cmd.join(" ")} ended`)))]);
  return {
    milliseconds: performance.now() - begun,
    memory: () => total(descendants(child.pid).map(memoryOf)),
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

/** Each with a hostname and a key. */
async function addSites({ database }: Site, folder: string, count: number): Promise<void> {
  const file = join(folder, "sites.json");
  const sites = Array.from({ length: count }, (_, index) => ({
    name: `site-${index}`,
    hostnames: [`shop-${index}.example`],
    keys: [{ label: "till" }],
  }));
  writeFileSync(file, JSON.stringify({ sites }));
  await runStorefront(database, ["apply", file, "--yes", "--keys-to", join(folder, "keys.jsonl")]);
}
