// `npm run check:webhooks -- [changes]` delivers 100,000 changes to a receiver on each engine, first undisturbed, then while the delivering process is killed
// three times. Takes a few minutes, because each killed process leaves a lease that has to expire.

import { engines } from "../../test/support/engine/engines.ts";
import { deliverUnderKills } from "../../test/support/webhooks/killed-deliveries.ts";

const changes = Number(process.argv[2] ?? 100_000);
for (const kind of engines) {
  await kind.open();
  for (const kills of [0, 3]) {
    const figures = await deliverUnderKills(await kind.newDatabase(), { changes, kills });
    console.log(JSON.stringify({ engine: kind.name, changes, kills, ...figures }));
  }
  await kind.close();
}
