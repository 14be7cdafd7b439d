// Runs the simulations of servers and of webhook delivery with many seeds: `npm run simulate -- [seeds] [first seed] [servers | webhooks]`. Prints each seed
// that finds something wrong. `npm run simulate -- 1 <seed>` repeats one and prints what happened.

import { withSimulatedDatabase } from "../../test/simulation/database.ts";
import { simulateServers } from "../../test/simulation/server/simulation.ts";
import { simulate } from "../../test/simulation/simulate.ts";

/** Webhook seeds simulated on one database. */
const perDatabase = 250;
/** How long things can keep failing in a webhook seed. */
const maxFailuresMs = 120_000;
/** Faults printed per seed. */
const shownFaults = 3;

const [seeds = 2000, first = 1] = process.argv.slice(2, 4).map(Number);
const only = process.argv[4];
const end = first + seeds;
let faulty = 0;

function report(kind: string, seed: number, faults: readonly string[]): void {
  if (faults.length === 0) return;
  faulty++;
  for (const fault of faults.slice(0, shownFaults)) console.log(`${kind}, seed ${seed}: ${fault}`);
  console.log(`to repeat: npm run simulate -- 1 ${seed} ${kind}`);
}

async function simulateAllServers(): Promise<void> {
  const totals: Record<string, number> = {};
  for (let seed = first; seed < end; seed++) {
    const { faults, counts } = await simulateServers(seed, seeds === 1 ? { trace: (line) => console.log(line) } : {});
    for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count;
    report("servers", seed, faults);
    if ((seed + 1 - first) % perDatabase === 0 || seed === end - 1)
      console.error(JSON.stringify({ servers: seed + 1 - first, faulty, ...totals }));
  }
}

async function simulateAllWebhooks(): Promise<void> {
  const totals = { sends: 0, repeats: 0, gone: 0, kills: 0, rollbacks: 0 };
  for (let from = first; from < end; from += perDatabase) {
    await withSimulatedDatabase(async (database) => {
      for (let seed = from; seed < Math.min(from + perDatabase, end); seed++) {
        const result = await simulate(database, seed, { maxFailuresMs });
        for (const name of ["sends", "repeats", "gone", "kills", "rollbacks"] as const) totals[name] += result[name];
        report("webhooks", seed, result.faults);
      }
    });
    console.error(JSON.stringify({ webhooks: Math.min(from + perDatabase, end) - first, faulty, ...totals }));
  }
}

if (only !== "webhooks") await simulateAllServers();
if (only !== "servers") await simulateAllWebhooks();
process.exit(faulty > 0 ? 1 : 0);
