// The client package that a server offers for download.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DemoServer, startDemo } from "../support/programs/demo-server.ts";

const root = join(import.meta.dir, "../..");
const folder = mkdtempSync(join(tmpdir(), "storefront-client-download-"));
let server: DemoServer;
beforeAll(async () => {
  expect(run(["node", "bin/bun.js", "scripts/build/client.ts"], root).exitCode).toBe(0);
  server = await startDemo();
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function run(command: string[], cwd: string, env: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd, env: { ...process.env, ...env } });
  return { exitCode, output: `${stdout}${stderr}` };
}

/** Runs npm in another process, so that this one can answer it. */
async function npm(...parameters: string[]) {
  const running = Bun.spawn(["npm", ...parameters, "--no-audit", "--no-fund", "--cache", join(folder, ".npm")], {
    cwd: folder,
    stdout: "ignore",
    stderr: "pipe",
  });
  return { exitCode: await running.exited, stderr: await running.stderr.text() };
}

/** The client's path with its version, as named on the start page. */
async function clientPath(): Promise<string> {
  return /\/docs\/client-[^"]+\.tgz/.exec(await (await fetch(server.url)).text())?.[0] ?? "";
}

describe("client package from a server", () => {
  test("npm installs it in an empty folder; it runs and has types", async () => {
    const path = await clientPath();
    expect(await npm("install", server.url + path)).toMatchObject({ exitCode: 0 });
    const program = `import { createClient } from "storefront-client";
const client = createClient({ url: process.argv[2] as string, key: process.argv[3] as string });
const name: string = (await client.orderStatuses.get(3)).Name;
console.log(name);
`;
    await Bun.write(join(folder, "program.ts"), `declare const process: { argv: string[] };\n${program}`);
    await Bun.write(join(folder, "program.mjs"), program.replaceAll(/ as string|: string/g, ""));
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", ""];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const manifest = await Bun.file(join(folder, "package.json")).json();
    await Bun.write(join(folder, "package.json"), JSON.stringify({ ...manifest, type: "module" }));
    expect(run(["node", tsc, ...options, "program.ts"], folder)).toEqual({ exitCode: 0, output: "" });
    const running = Bun.spawn(["node", "program.mjs", server.url, server.key], { cwd: folder, stdout: "pipe" });
    expect(await running.stdout.text()).toBe("Dispatched\n");
    const lock = await Bun.file(join(folder, "package-lock.json")).json();
    const locked = lock.packages["node_modules/storefront-client"];
    expect([locked.resolved, `/docs/client-${locked.version}.tgz`]).toEqual([server.url + path, path]);
    expect(await npm("ci")).toMatchObject({ exitCode: 0 });
  }, 120_000);

  test("npm installs it from a committed file, even if the server no longer has this version", async () => {
    const path = await clientPath();
    const name = path.replace("/docs/", "");
    await Bun.write(join(folder, name), await fetch(server.url + path));
    expect(await npm("install", `./${name}`)).toMatchObject({ exitCode: 0 });
    for (const cache of [".npm", "node_modules"]) rmSync(join(folder, cache), { recursive: true, force: true });
    expect(await npm("ci", "--offline")).toMatchObject({ exitCode: 0 });
    expect(await Bun.file(join(folder, "node_modules/storefront-client/client.js")).exists()).toBe(true);
  }, 120_000);

  test("is the same in every build, and isn't compressed twice", async () => {
    const path = await clientPath();
    const response = await fetch(server.url + path, { headers: { "Accept-Encoding": "gzip, zstd" } });
    expect([response.headers.get("Content-Type"), response.headers.get("Content-Encoding")]).toEqual([
      "application/gzip",
      null,
    ]);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(run(["node", "bin/bun.js", "scripts/build/client.ts"], root).exitCode).toBe(0);
    expect(bytes.equals(readFileSync(join(root, "dist/client.tgz")))).toBe(true);
  }, 60_000);
});
