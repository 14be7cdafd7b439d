// The client as an integrator gets it: packed, and unpacked into an empty project.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestServer, type TestServer } from "../support/server.ts";

const root = join(import.meta.dir, "../..");
const project = mkdtempSync(join(tmpdir(), "storefront-empty-"));
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  await run(["node", "bin/bun.js", "scripts/build-client.ts"], root);
  await unpack(join(root, "dist/client"), "storefront-client");
  await unpack(root, "storefront");
}, 60_000);
afterAll(async () => {
  await server.stop();
  rmSync(project, { recursive: true, force: true });
});

const script = (module: string) => `
import { createClient, StorefrontProblem } from "${module}";
const [url, key] = process.argv.slice(2);
const client = createClient({ url, key });
const brand = await client.brands.create({ Name: "Acme" });
const renamed = await client.brands.update(brand, { Name: "Acme Ltd" });
const names = [];
for await (const each of client.brands.all()) names.push(each.Name);
const problem = await client.brands.delete(brand).catch((error) => error);
await client.brands.delete(renamed);
console.log(JSON.stringify([names, problem instanceof StorefrontProblem, problem.code, (await client.brands.list()).length]));
`;

for (const module of ["storefront-client", "storefront/client"]) {
  describe(module, () => {
    test("works in an empty Node project", async () => {
      writeFileSync(join(project, "try.js"), script(module));
      const output = await run(["node", "try.js", server.url, server.key], project);
      expect(JSON.parse(output)).toEqual([["Acme Ltd"], true, "precondition-failed", 0]);
    });

    test("tells TypeScript which fields there are", async () => {
      const good = `import { createClient, type Brand } from "${module}";
const client = createClient({ url: "http://127.0.0.1", key: "k" });
export const town = async (): Promise<string> => (await client.brands.get(1)).Address.Town;
export const part = async () => (await client.brands.list({ fields: ["Name"] }))[0]?.Address?.Town.length;
export const status: Promise<{ ID: number; Name: string }> = client.orderStatuses.create({ Name: "Sent" });
export const brand: Brand = await client.brands.update(1, { Telephone: { Mobile: "1" } });
// @ts-expect-error: no such field
await client.brands.create({ name: "Acme" });
// @ts-expect-error: a Name is needed
await client.brands.create({ AccountNumber: "1" });
// @ts-expect-error: no such path
await client.brands.list({ sort: "Town" });
// @ts-expect-error: locations can only be read
await client.locations.delete(1);
`;
      writeFileSync(join(project, "try.ts"), good);
      const tsc = join(root, "node_modules/typescript/bin/tsc");
      const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2023", "--lib", "es2023,dom"];
      expect(await run(["node", tsc, ...options, "--types", "", "try.ts"], project)).toBe("");
    });
  });
}

test("the client depends on nothing and takes less than 5 kB gzipped", () => {
  const folder = join(project, "node_modules/storefront-client");
  const code = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const bytes = Bun.gzipSync(code.map((name) => readFileSync(join(folder, name), "utf8")).join("\n"));
  expect(bytes.length).toBeLessThan(5000);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  expect(manifest.dependencies).toBeUndefined();
});

/** Packs as npm publishes, and unpacks as npm installs a package without its dependencies. */
async function unpack(folder: string, name: string): Promise<void> {
  const packed = JSON.parse(
    await run(["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", project], folder),
  );
  const target = join(project, "node_modules", name);
  mkdirSync(target, { recursive: true });
  await run(["tar", "-xzf", join(project, packed[0].filename), "-C", target, "--strip-components=1"], project);
}

/** What the command writes to stdout; throws with all that it said when it fails. */
async function run(command: string[], cwd: string): Promise<string> {
  const running = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
  if ((await running.exited) !== 0) throw new Error(`${command.join(" ")}: ${output}${complaint}`);
  return output;
}
