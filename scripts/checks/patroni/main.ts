// `npm run check:patroni [-- number...]` measures how events in a PostgreSQL cluster under Patroni (scripts/checks/patroni/events.ts) affect clients. Needs
// Debian's packages and root. Takes seven minutes, and prints a table of counts. Exits with 1 if a write was lost or stored twice, if a read was wrong or stale
// for longer than docs/operating/postgresql.md says, or if writes took longer than 2.5 s to work again.

import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { startProcess } from "../../../test/support/programs/processes.ts";
import { type Cluster, missingPrograms, startCluster } from "./cluster.ts";
import { events } from "./events.ts";
import { addShop, type Figures, isWrong, Load, namesIn, request } from "./load.ts";

/** Seconds from when a primary can confirm writes to the first confirmed write. */
const maxPause = 2.5;

/** Seconds for which reads may come from an old primary that's still running. */
const maxStale = 1;

const missing = missingPrograms();
if (missing !== undefined) {
  console.error(missing);
  process.exit(2);
}
const chosen = process.argv.slice(2).map(Number);
const names = Object.keys(events).filter((_, i) => chosen.length === 0 || chosen.includes(i + 1));
const rows: Record<string, Figures> = {};
console.log("starting the cluster");
const cluster = await startCluster();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => void cluster.remove().then(() => process.exit(1)));
try {
  await checkAll(cluster);
} finally {
  await cluster.remove();
}
console.table(rows);
const faults = Object.values(rows).filter(
  (row) => row.lost + row.doubled + row.wrong > 0 || row.staleFor > maxStale || row.afterStandby > maxPause,
);
process.exit(faults.length > 0 ? 1 : 0);

async function checkAll({ url }: Cluster): Promise<void> {
  const engine = await openEngine(url, allResources);
  const [created, counted, quiet] = [
    await addShop(engine, "created"),
    await addShop(engine, "counted"),
    await addShop(engine, "quiet"),
  ];
  await engine.close();
  const settings = { DATABASE: `${url}?pool_size=8`, WORKERS: "2" };
  const [writer, reader] = [await startProcess(settings), await startProcess(settings)];
  const servers = { writing: writer.url, reading: reader.url };
  for (const Name of ["one", "two"]) await request(servers.writing, quiet, "POST", "brands.json", { Name });
  const load = new Load(servers, [created, counted]);
  for (const name of names) {
    await cluster.heal();
    await load.start();
    await Bun.sleep(3000);
    console.log(`${Object.keys(events).indexOf(name) + 1}. ${name}`);
    await events[name]?.({ cluster, load, servers, quiet }, await cluster.leader());
    await Bun.sleep(2000);
    await cluster.heal();
    const own = await openEngine(url, allResources);
    const figures = await load.stop(own);
    const stored = await namesIn(own, quiet);
    const lists = Object.values(servers).flatMap((server) =>
      Array.from({ length: 12 }, () => isWrong(server, quiet, stored)),
    );
    rows[name] = { ...figures, wrong: figures.wrong + (await Promise.all(lists)).filter(Boolean).length };
    await own.close();
    console.log(JSON.stringify(rows[name]));
  }
  await Promise.all([writer.end(), reader.end()]);
}
