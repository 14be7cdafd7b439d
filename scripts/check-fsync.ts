// `npm run check:fsync`: checks that acknowledged writes survive an fsync that fails once, and then reports success without writing, like that of the
// Linux kernel.
//
// Writes to a server, lets one fsync of its log fail, writes again, and then checks the files that a power loss would have left (lying-fsync.c).
// `npm test` does not include this check, because it needs Linux and a C compiler (cc).

import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportRecords } from "../src/operator/export-records.ts";
import { createKey } from "../src/operator/sites/keys.ts";
import { createSite } from "../src/operator/sites/sites.ts";
import { allResources } from "../src/resources/all.ts";
import { brand } from "../src/resources/brand.ts";
import { openEngine } from "../src/store/open.ts";

/**
 * The cases: `failed` is the number of rows in the commit that fails (1: a request; more: an import by another process), `after` the requests after
 * it.
 */
const sizes = [
  { failed: 1, after: 1 },
  { failed: 1, after: 50 },
  { failed: 400, after: 1 },
  { failed: 400, after: 50 },
];

const folder = mkdtempSync(join(tmpdir(), "storefront-fsync-"));
const library = join(folder, "lying-fsync.so");
const compiled = Bun.spawnSync([
  "cc",
  "-shared",
  "-fPIC",
  "-O1",
  "-o",
  library,
  join(import.meta.dir, "lying-fsync.c"),
  "-ldl",
]);
if (compiled.exitCode !== 0) throw new Error(`cc failed: ${compiled.stderr}`);

const main = join(import.meta.dir, "../src/main.ts");

const environment = (database: string) => ({
  ...process.env,
  STOREFRONT_DATABASE: `sqlite:${database}`,
  LD_PRELOAD: library,
  FSYNC_DATABASE: database,
});

async function startServer(database: string) {
  const child = Bun.spawn([process.execPath, main, "serve", "--port", "0", "--admin", "none", "--log", "silent"], {
    env: environment(database),
    stdout: "pipe",
    stderr: "inherit",
  });
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk);
    const [, url] = /listens on (\S+)/.exec(text) ?? [];
    if (url) return { url, kill: () => kill(child) };
  }
  throw new Error(`the server did not start: ${text}`);
}

async function kill(child: Bun.Subprocess): Promise<void> {
  child.kill("SIGKILL");
  await child.exited;
}

async function createBrand(url: string, key: string, name: string): Promise<number> {
  const init = { method: "POST", body: JSON.stringify({ Name: name }), headers: { "X-API-AUTH": key } };
  return (await fetch(`${url}/restapi/brands.json`, init)).status;
}

/** Imports brands in one transaction. Its fsync should fail. Returns the status that a request would get. */
async function failImport(database: string, count: number): Promise<number> {
  const file = `${database}.csv`;
  writeFileSync(file, `Name\n${Array.from({ length: count }, (_, n) => `failed ${n} ${"x".repeat(200)}\n`).join("")}`);
  const command = [process.execPath, main, "import", "--site", "main", "brands", file];
  const child = Bun.spawn(command, { env: environment(database), stdout: "ignore", stderr: "ignore" });
  return (await child.exited) === 0 ? 201 : 503;
}

/**
 * Runs one case. Returns the names of acknowledged brands that are missing after the power loss.
 * @param isKilled whether the server restarts after the failure
 */
async function tryOnce(n: number, { failed, after }: (typeof sizes)[number], isKilled: boolean): Promise<string[]> {
  const database = join(folder, `${n}.db`);
  const engine = await openEngine(`sqlite:${database}`, allResources);
  const site = await createSite(engine, "main", { isDefault: true }, Date.now());
  const { key } = await createKey(engine, site, {}, Date.now());
  await engine.close();
  copyFileSync(database, `${database}.disk`);
  let server = await startServer(database);
  const acknowledged: string[] = [];
  const create = async (name: string) => {
    const status = await createBrand(server.url, key, name);
    if (status === 201) acknowledged.push(name);
    return status;
  };
  for (let i = 0; i < 5; i++) await create(`before ${i}`);
  writeFileSync(`${database}.fail`, "");
  const status = failed === 1 ? await create("failed") : await failImport(database, failed);
  if (status !== 503 || existsSync(`${database}.fail`)) throw new Error(`the failed commit got ${status}`);
  if (isKilled) {
    await server.kill();
    server = await startServer(database);
  }
  for (let i = 0; i < after; i++) await create(`after ${i}`);
  await server.kill();
  if (acknowledged.length !== 5 + after) throw new Error(`only ${acknowledged.length} writes were acknowledged`);
  return missingAfterPowerLoss(database, acknowledged);
}

async function missingAfterPowerLoss(database: string, acknowledged: readonly string[]): Promise<string[]> {
  const left = `${database}.left`;
  for (const suffix of ["", "-wal"]) {
    if (existsSync(`${database}${suffix}.disk`)) copyFileSync(`${database}${suffix}.disk`, `${left}${suffix}`);
  }
  const engine = await openEngine(`sqlite:${left}`, allResources);
  try {
    const faults = await engine.findInconsistencies();
    if (faults.length > 0) throw new Error(`after the power loss, \`check\` finds: ${faults.join("; ")}`);
    const text = (await Array.fromAsync(exportRecords(engine, 1, brand, "json"))).join("");
    const names = new Set((JSON.parse(text) as { Name: string }[]).map(({ Name }) => Name));
    return acknowledged.filter((name) => !names.has(name));
  } finally {
    await engine.close();
  }
}

let lost = 0;
let count = 0;
for (const isKilled of [false, true]) {
  for (const size of sizes) {
    const missing = await tryOnce(++count, size, isKilled);
    lost += missing.length;
    const when = isKilled ? "killed and started again after the failure" : "running on after the failure";
    console.log(
      `${when}, ${size.failed} rows failed, ${size.after} requests: ${missing.length} acknowledged writes lost`,
    );
  }
}
rmSync(folder, { recursive: true });
if (lost > 0) process.exitCode = 1;
