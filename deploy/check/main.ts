// `npm run check:deploy [-- name...]` runs and checks what's in deploy/, and says what couldn't be checked on this machine.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkCompose } from "./compose.ts";
import { checkImage } from "./image.ts";
import { checkKubernetes } from "./kubernetes.ts";
import { checkPrometheus } from "./prometheus.ts";
import { checkProxies } from "./proxies.ts";
import { createReport, type Report } from "./report.ts";
import { checkSystemd } from "./systemd.ts";

type Check = (report: Report, folder: string) => Promise<void>;

const checks: Readonly<Record<string, Check>> = {
  image: checkImage,
  compose: checkCompose,
  systemd: checkSystemd,
  kubernetes: checkKubernetes,
  prometheus: checkPrometheus,
};
// These run together, because each waits for a minute.
const proxies = ["nginx", "caddy"];
const names = [...Object.keys(checks), ...proxies];

const named = process.argv.slice(2).filter((_, i, args) => args[i] !== "--binary" && args[i - 1] !== "--binary");
const unknown = named.find((name) => !names.includes(name));
if (unknown !== undefined) {
  console.error(`unknown check \`${unknown}\`; use one of ${names.join(", ")}`);
  process.exit(2);
}

// Exiting ends the programs that the checks started too.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

const report = createReport();
const folder = mkdtempSync(join(tmpdir(), "storefront-deploy-"));
try {
  const wanted = new Set(named.length > 0 ? named : names);
  for (const [name, check] of Object.entries(checks)) if (wanted.has(name)) await runCheck(name, check);
  const together = proxies.filter((name) => wanted.has(name));
  if (together.length > 0) await runCheck("proxies", (...args) => checkProxies(...args, together));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(report.finish());

/** A check that throws has failed. */
async function runCheck(name: string, check: Check): Promise<void> {
  const own = mkdtempSync(join(folder, `${name}-`));
  await check(report, own).catch((error) => report.check(`${name}: runs`, false, String(error?.stack ?? error)));
}
