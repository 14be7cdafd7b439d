// `npm run check:metrics`: checks the metrics of a running server and the alert rules with promtool, which belongs to Prometheus (Debian:
// `apt-get install prometheus`). Exits with 1 if promtool finds something, or is not there.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../src/config.ts";
import { toMetricsText } from "../src/lib/metric-samples.ts";
import { createKey } from "../src/operator/keys.ts";
import { addSite } from "../src/operator/sites.ts";
import { start } from "../src/start.ts";

const folder = mkdtempSync(join(tmpdir(), "storefront-metrics-"));
let faults = 0;
try {
  faults += run(["check", "metrics"], await metrics(`sqlite:${join(folder, "test.db")}`));
  faults += run(["check", "rules", join(import.meta.dir, "../docs/alerts.yml")]);
  faults += run(["test", "rules", join(import.meta.dir, "../test/alerts.yml")]);
} finally {
  rmSync(folder, { recursive: true });
}
process.exit(faults > 0 ? 1 : 0);

/** The metrics of a server that has had some requests. */
async function metrics(database: string): Promise<string> {
  const server = await start(readConfig({ DATABASE: database, PORT: "0", LOG: "silent" }));
  const site = await addSite(server.engine, "shop", { isDefault: true }, Date.now());
  const { key } = await createKey(server.engine, site, {}, Date.now());
  const headers = { "X-API-AUTH": key };
  await fetch(`${server.url}/restapi/brands.json`, { method: "POST", headers, body: '{"Name":"Acme"}' });
  for (const path of ["brands.json", "brands/1.xml", "brands/9.xml"])
    await fetch(`${server.url}/restapi/${path}`, { headers });
  await fetch(`${server.url}/restapi/brands.json`);
  const text = await toMetricsText([await server.sample()]);
  await server.stop();
  return text;
}

/** Runs promtool. Returns 1 if it finds something. */
function run(args: readonly string[], stdin = ""): number {
  const { success } = Bun.spawnSync(["promtool", ...args], {
    stdin: Buffer.from(stdin),
    stdout: "inherit",
    stderr: "inherit",
  });
  console.log(`promtool ${args.slice(0, 2).join(" ")}: ${success ? "nothing found" : "see above"}`);
  return success ? 0 : 1;
}
