// The client's package as a server offers it for download.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DemoServer, startDemo } from "../support/programs/demo-server.ts";

const root = join(import.meta.dir, "../..");
const folder = mkdtempSync(join(tmpdir(), "storefront-client-download-"));
let server: DemoServer;
beforeAll(async () => {
  expect(run(["node", "bin/bun.js", "scripts/build-client.ts"], root).exitCode).toBe(0);
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

describe("/docs/client.tgz", () => {
  test("is installed by npm in an empty folder, runs, and has types", async () => {
    // In other processes, so that this process can respond.
    const install = Bun.spawn(["npm", "install", "--no-audit", "--no-fund", `${server.url}/docs/client.tgz`], {
      cwd: folder,
      stdout: "ignore",
      stderr: "pipe",
    });
    expect([await install.exited, await install.stderr.text()]).toEqual([0, expect.any(String)]);
    const program = `import { createClient } from "@storefront-server/client";
const client = createClient({ url: process.argv[2] as string, key: process.argv[3] as string });
const name: string = (await client.orderStatuses.get(3)).Name;
console.log(name);
`;
    await Bun.write(join(folder, "program.ts"), `declare const process: { argv: string[] };\n${program}`);
    await Bun.write(join(folder, "program.mjs"), program.replaceAll(/ as string|: string/g, ""));
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", ""];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    await Bun.write(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    expect(run(["node", tsc, ...options, "program.ts"], folder)).toEqual({ exitCode: 0, output: "" });
    const running = Bun.spawn(["node", "program.mjs", server.url, server.key], { cwd: folder, stdout: "pipe" });
    expect(await running.stdout.text()).toBe("Dispatched\n");
  }, 120_000);

  test("is the same for every build, and is not compressed twice", async () => {
    const response = await fetch(`${server.url}/docs/client.tgz`, { headers: { "Accept-Encoding": "gzip, zstd" } });
    expect([response.headers.get("Content-Type"), response.headers.get("Content-Encoding")]).toEqual([
      "application/gzip",
      null,
    ]);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(run(["node", "bin/bun.js", "scripts/build-client.ts"], root).exitCode).toBe(0);
    expect(bytes.equals(readFileSync(join(root, "dist/client.tgz")))).toBe(true);
  }, 60_000);
});
