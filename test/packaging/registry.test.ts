// The server's package in a registry: Verdaccio, on this machine. It has no other registry behind it; Bun's packages come from npm's cache or the registry in
// npm's settings, because npm knows how to reach it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dependencies, version } from "../../package.json" with { type: "json" };
import { ownPlatform, runtimes } from "../../scripts/build/bun-runtimes.ts";
import { freePort } from "../support/postgres/server.ts";
import { openWorkspace, type Served, type Workspace } from "../support/programs/command.ts";
import { documentsThatDiffer } from "../support/programs/documents.ts";
import { pack, runOutside } from "../support/programs/packing.ts";
import { waitUntil } from "../support/time.ts";
import { tool } from "./tools/tools.ts";

const root = join(import.meta.dir, "../..");
const folder = mkdtempSync(join(tmpdir(), "storefront-registry-"));
/** Makes npm use this registry and an empty cache. */
const npm = { npm_config_userconfig: join(folder, ".npmrc"), npm_config_cache: join(folder, "cache") };
let registry: Bun.Subprocess;
let workspace: Workspace;

beforeAll(async () => {
  for (const script of ["console", "prepack"])
    await runOutside([process.execPath, join(root, `scripts/build/${script}.ts`)], root);
  const files = await Promise.all([
    pack(root, folder, "--ignore-scripts"),
    ...["bun", runtimes[ownPlatform()]].map((name) =>
      pack(folder, folder, "--prefer-offline", `${name}@${dependencies.bun}`),
    ),
  ]);
  const url = await startRegistry();
  writeFileSync(join(folder, ".npmrc"), `registry=${url}\n${url.replace("http:", "")}:_authToken=any\n`);
  const settings = Object.entries(npm).map(([name, value]) => `${name}=${value}`);
  for (const file of files) await runOutside(["env", ...settings, "npm", "publish", file], folder);
  workspace = openWorkspace(undefined, ["npx", "--yes", "storefront-server"]);
}, 240_000);
afterAll(async () => {
  await workspace?.close();
  registry?.kill();
  await registry?.exited;
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a registry to which anyone can publish. Returns its address. */
async function startRegistry(): Promise<string> {
  const config = join(folder, "verdaccio.yaml");
  const packages = { "**": { access: "$all", publish: "$all" } };
  const log = { type: "stdout", level: "fatal" };
  // YAML includes JSON.
  writeFileSync(config, JSON.stringify({ storage: join(folder, "storage"), max_body_size: "200mb", packages, log }));
  const url = `http://127.0.0.1:${await freePort()}/`;
  registry = Bun.spawn(["node", tool("verdaccio/bin/verdaccio"), "--config", config, "--listen", url], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit"],
  });
  await waitUntil(async () => (await fetch(`${url}-/ping`).catch(() => undefined))?.ok, "the registry");
  return url;
}

test("npx storefront-server serves a demo", async () => {
  expect(await workspace.mustRun(["--version"], { env: npm })).toStartWith(version);
  await serve(async ({ url }) => expect(await documentsThatDiffer(url)).toEqual([]));
  const hint = "KEY=$(npx storefront-server key create";
  await serve((again) => waitUntil(() => again.stdout().includes(hint), "how to create a key"));
}, 120_000);

/** Runs `check` with a server, then ends it, because the workspace can only end npx. */
async function serve(check: (server: Served) => Promise<unknown>): Promise<void> {
  const server = await workspace.serve(["--demo"], { env: npm });
  try {
    await check(server);
  } finally {
    server.kill();
    await server.exited;
  }
  await expect(fetch(server.url)).rejects.toThrow();
}
