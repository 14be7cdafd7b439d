// Runs the simulation of webhook delivery for many seeds: `npm run simulate -- [seeds] [first seed] [maximum seconds of failures]`. Prints each seed
// with a fault. To repeat one: `npm run simulate -- 1 <seed>`.

import { withSimulatedDatabase } from "../test/simulation/database.ts";
import { simulate } from "../test/simulation/simulate.ts";

/** Number of seeds that are simulated on one database. */
const perDatabase = 250;

const [seeds = 2000, first = 1, seconds = 120] = process.argv.slice(2).map(Number);
const totals = { seeds: 0, sends: 0, repeats: 0, gone: 0, kills: 0, rollbacks: 0, faults: 0 };
for (let from = first; from < first + seeds; from += perDatabase) {
  await withSimulatedDatabase(async (database) => {
    for (let seed = from; seed < Math.min(from + perDatabase, first + seeds); seed++) {
      const report = await simulate(database, seed, { maxFailuresMs: seconds * 1000 });
      totals.seeds++;
      for (const name of ["sends", "repeats", "gone", "kills", "rollbacks"] as const) totals[name] += report[name];
      totals.faults += report.faults.length;
      for (const fault of report.faults.slice(0, 3)) console.log(`seed ${seed}: ${fault}`);
    }
  });
  console.error(JSON.stringify(totals));
}
process.exit(totals.faults > 0 ? 1 : 0);
