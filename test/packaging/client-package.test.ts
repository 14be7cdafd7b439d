// The client package, packed and installed in an empty project.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestServer, type TestServer } from "../support/http/server.ts";
import { pack, runOutside, unpack } from "../support/programs/packing.ts";
import { tool } from "./tools/tools.ts";

const root = join(import.meta.dir, "../..");
const project = mkdtempSync(join(tmpdir(), "storefront-empty-"));
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  await runOutside(["node", "bin/bun.js", "scripts/build/client.ts"], root);
  for (const [folder, name] of [
    ["dist/client", "storefront-client"],
    ["", "storefront-server"],
  ]) {
    const file = await pack(join(root, folder as string), project, "--ignore-scripts");
    await unpack(file, join(project, "node_modules", name as string));
  }
}, 60_000);
afterAll(async () => {
  await server.stop();
  rmSync(project, { recursive: true, force: true });
});

/** The repository's compiler, and an older one for `node10`, which TypeScript 6 removed. */
const compilers: Record<string, string> = {
  "5.9.3": tool("typescript/bin/tsc"),
  "7.0.2": join(root, "node_modules/typescript/bin/tsc"),
};

/** TypeScript's version, `module` and `moduleResolution`. */
const resolutions: [string, string, string][] = [
  ["5.9.3", "commonjs", "node10"],
  ["5.9.3", "node16", "node16"],
  ["7.0.2", "nodenext", "nodenext"],
  ["7.0.2", "preserve", "bundler"],
];

const typed = (module: string) => `
import { createClient, etagOf, StorefrontProblem, verifyWebhook, type Brand, type FieldError } from "${module}";
const client = createClient({ url: "http://127.0.0.1", key: "k" });
export const town = async (): Promise<string> => (await client.brands.get(1)).Address.Town;
export const part = async () => (await client.brands.list({ fields: ["Name", "Address.Town"] }))[0]?.Address.Town.length;
// @ts-expect-error: the records don't have this field
export const missing = async () => (await client.brands.list({ fields: ["Name"] }))[0]?.Address;
export const event = async (request: Request) => {
  const { id, type, data } = await verifyWebhook(request, ["whsec_"], { tolerance: 1000 });
  return type === "storefront.changes" ? data.Changes.map(({ ID }) => ID) : [id];
};
export const fieldErrors = (error: unknown): readonly FieldError[] => error instanceof StorefrontProblem ? error.errors : [];
export const status: Promise<{ ID: number; Name: string }> = client.orderStatuses.create({ Name: "Sent" });
export const brand: Promise<Brand> = client.brands.update(1, { Telephone: { Mobile: "1" } });
export const etag: string | undefined = etagOf({});
export const maybe: Promise<Brand | undefined> = client.brands.get(1, { ifNoneMatch: etag });
// @ts-expect-error: undefined if the record hasn't changed
export const same: Promise<Brand> = client.brands.get(1, { ifNoneMatch: etag });
// @ts-expect-error: undefined if the list hasn't changed
export const list: Promise<Brand[]> = client.brands.list({}, { ifNoneMatch: etag });
// @ts-expect-error: no such field
client.brands.create({ name: "Acme" });
// @ts-expect-error: a Name is needed
client.brands.create({ AccountNumber: "1" });
// @ts-expect-error: no such path
client.brands.list({ sort: "Town" });
export const some = client.brands.list({ filter: { ID: { in: [1, 2] }, "Address.Town": { contains: "x" } } });
// @ts-expect-error: only IDs can be numbers
client.brands.list({ filter: { Name: { in: [1, 2] } } });
// @ts-expect-error: an ID is a number
client.brands.get("1");
// @ts-expect-error: locations can only be read
client.locations.delete(1);
export const follow = async () => {
  for await (const change of client.changes({ since: null, resources: ["brands", "locations"] })) {
    // @ts-expect-error: it may be deleted
    change.Record.Name;
    if (change.Operation === "delete") continue;
    if (change.Resource === "brands") return change.Record.AccountNumber;
    // @ts-expect-error: the resources don't include it
    if (change.Resource === "orderstatuses") continue;
    return change.Record.Manager;
  }
};
export const loaded = async () => {
  const { created, runs, results } = await client.brands.upsert([{ Name: "Acme", AccountNumber: "A1" }], { match: "AccountNumber" });
  const undone = await client.undo(runs[0] ?? "", { dryRun: true });
  return [created, results[0]?.Record.Address.Town, undone.skipped.map(({ ID }) => ID)];
};
// @ts-expect-error: no such field to match by
client.brands.upsert([], { match: "Town" });
// @ts-expect-error: locations can only be read
client.locations.upsert([], { match: "Code" });
export const together = async () => {
  const { run, results } = await client.batch([
    { Method: "POST", Resource: "brands", Record: { Name: "Acme" } },
    { Method: "DELETE", Resource: "orderstatuses", ID: 3, IfMatch: "*" },
  ]);
  // @ts-expect-error: an order status has no address
  results[1].Record.Address;
  return [run?.length, results[0].Record.Address.Town, results[1].Record.Name];
};
export const separate = async () => {
  const { results } = await client.batch([{ Method: "PUT", Resource: "brands", ID: 1, Record: {} }], { atomic: false });
  // @ts-expect-error: it may be rejected
  results[0].Record.Name;
  return results[0].Problem ? results[0].Problem.detail : results[0].Record.Name;
};
// @ts-expect-error: locations can only be read
client.batch([{ Method: "DELETE", Resource: "locations", ID: 1 }]);
// @ts-expect-error: a new record needs a Name
client.batch([{ Method: "POST", Resource: "brands", Record: {} }]);
export const copies = new Map<number, Brand>();
export const mirroring: Promise<void> = client.mirror("brands", {
  ids: () => copies.keys(),
  store: (brand) => copies.set(brand.ID, brand),
  remove: async (id, cursor) => console.log(id, cursor?.length),
});
// @ts-expect-error: \`ids\` is needed to find the deleted records
client.mirror("orderstatuses", { store: ({ Name }) => Name, remove: () => {} });
`;

const modules = ["storefront-client", "storefront-server/client"];

const script = (module: string) => `
import { createClient, etagOf } from "${module}";
const [url, key] = process.argv.slice(2);
const client = createClient({ url, key });
const brand = await client.brands.create({ Name: "Acme" });
const renamed = await client.brands.update(brand, { Name: "Acme Ltd" });
const names = [];
for await (const each of client.brands.all()) names.push(each.Name);
const problem = await client.brands.delete(brand).catch((error) => error);
const unchanged = await client.brands.get(brand.ID, { ifNoneMatch: etagOf(renamed) });
await client.brands.delete(renamed);
const [changes, copy] = [[], new Map()];
for await (const { Operation } of client.changes({ wait: 0 })) changes.push(Operation);
await client.mirror("brands", { ids: () => copy.keys(), store: (it) => copy.set(it.ID, it), remove: (id) => copy.delete(id), wait: 0 });
const gone = await client.changes({ since: "x.1" }).next().catch((error) => error);
const unreachable = createClient({ url: "http://127.0.0.1:1", key, retries: 0 });
const failure = await unreachable.brands.list().catch((error) => error);
// A call aborted while it waits mustn't keep the process alive.
const busy = async () => new Response("", { status: 503, headers: { "Retry-After": "50" } });
const signal = AbortSignal.timeout(100);
await createClient({ url, key, fetch: busy }).brands.list({}, { signal }).catch(() => {});
console.log(JSON.stringify([names, problem.code, failure.reason, String(unchanged), (await client.brands.list()).length, changes.slice(-3), copy.size, gone.name]));
`;

for (const module of modules) {
  describe(module, () => {
    test("works in an empty Node project", async () => {
      writeFileSync(join(project, "try.js"), script(module));
      const output = await runOutside(["node", "try.js", server.url, server.key], project);
      expect(JSON.parse(output)).toEqual([
        ["Acme Ltd"],
        "precondition-failed",
        "network",
        "undefined",
        0,
        ["create", "update", "delete"],
        0,
        "StorefrontGone",
      ]);
    });
  });
}

test.each(
  resolutions,
)("TypeScript %s finds the types with --module %s and --moduleResolution %s", async (version, module, how) => {
  const files = modules.map((name, index) => {
    writeFileSync(join(project, `typed-${index}.ts`), typed(name));
    return `typed-${index}.ts`;
  });
  const options = [
    "--strict",
    "--skipLibCheck",
    "--noEmit",
    "--target",
    "es2022",
    "--lib",
    "es2023,dom",
    "--module",
    module,
    "--moduleResolution",
    how,
  ];
  expect(await runOutside(["node", compilers[version] as string, ...options, ...files], project)).toBe("");
});

test("the client has no dependencies, and takes about 11 kB bundled and gzipped", async () => {
  const folder = join(project, "node_modules/storefront-client");
  const built = await Bun.build({ entrypoints: [join(folder, "client.js")], minify: true, target: "browser" });
  expect(Bun.gzipSync((await built.outputs[0]?.text()) as string).length).toBeLessThan(11_000);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  expect(manifest.dependencies).toBeUndefined();
});
