// An operator's operation in another process invalidates exactly what the contract says: keys, ETags, cursors, long polls, idempotency keys, runs,
// console sessions and open imports.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../../src/config.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { readRows } from "../../../src/operator/import/file-rows.ts";
import { importRecords } from "../../../src/operator/import/import-records.ts";
import { pruneJournals } from "../../../src/operator/journal/prune-journals.ts";
import { undo } from "../../../src/operator/journal/undo.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { importSite } from "../../../src/operator/site-files/import-site.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { removeSite } from "../../../src/operator/sites/site-removal.ts";
import { createSite, setSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { brand } from "../../../src/resources/brand.ts";
import { start } from "../../../src/start.ts";
import { openEngine } from "../../../src/store/open.ts";
import type { SiteRecord } from "../../../src/system/system-records.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { engines } from "../../support/engine/engines.ts";
import { type CallOptions, call, type TestResponse, waitForPolls } from "../../support/http/server.ts";

/** The site to operate on. In its journal, brand 1 is created and updated, brand 2 is created, and a batch creates two order statuses. */
interface Shop {
  readonly engine: Engine;
  readonly site: SiteRecord;
  readonly folder: string;
  /** The response to a long poll that's waiting for the next change. */
  readonly poll: Promise<TestResponse>;
}

/** What's seen after the operation. The default is what would be seen without it. */
interface Seen {
  /** Whether `If-None-Match` finds that brand 1 and the list have changed. */
  readonly changed?: true;
  /** The status of `If-Match` with the earlier tags, for brand 1 and brand 2. */
  readonly ifMatch?: readonly [number, number];
  /** The status of the feed after the first change's cursor, and after the last one's. */
  readonly feed?: readonly [number, number];
  /** The long poll's response: a status, or the first name in its page. By default, a client's next write ends it. */
  readonly poll?: number | string;
  /** The status of the batch when it's repeated, and of undoing its run. */
  readonly run?: readonly [number, number];
  readonly session?: "ended";
  /** The open import. Only a new site or a new epoch ends it. */
  readonly openImport?: "ended";
}

const importing = (atomic: boolean) => async (shop: Shop) => {
  const bytes = (async function* () {
    yield Buffer.from("ID,Name\n1,Imported\n");
  })();
  const options = { atomic, now: Date.now };
  await importRecords(shop.engine, shop.site.ID, brand, readRows(brand, bytes, "csv"), options);
};
const imported: Seen = { changed: true, ifMatch: [412, 200], poll: "Imported" };
const newEpoch: Seen = { changed: true, ifMatch: [412, 412], feed: [410, 410], poll: 410, openImport: "ended" };
const withSandbox = (then: (shop: Shop) => Promise<unknown>) => async (shop: Shop) => {
  await makeSandbox(shop.engine, shop.site.Name, { now: Date.now });
  await then(shop);
};

const operations: readonly (readonly [string, (shop: Shop) => Promise<unknown>, Seen])[] = [
  ["an import", importing(false), imported],
  ["an atomic import", importing(true), imported],
  [
    "an undo",
    ({ engine, site }) => undo(engine, site.ID, { since: 1, until: 2 }, { at: Date.now() }),
    { changed: true, ifMatch: [412, 200], poll: "Acme" },
  ],
  ["a prune", ({ engine, site }) => pruneJournals(engine, [site.ID], { revision: 3 }), { feed: [410, 200] }],
  [
    "pruning a run",
    ({ engine, site }) => pruneJournals(engine, [site.ID], { revision: 5 }),
    { feed: [410, 200], run: [422, 410] },
  ],
  ["pruning sites and keys", ({ engine }) => pruneJournals(engine, [0], { at: Date.now() }), {}],
  [
    "a suspension and its end",
    async ({ engine, site, poll }) => {
      await setSite(engine, site.Name, { isSuspended: true }, Date.now());
      await poll;
      await setSite(engine, site.Name, { isSuspended: false }, Date.now());
    },
    { poll: 403 },
  ],
  ["a sandbox, made", withSandbox(async () => {}), {}],
  ["a sandbox, renewed", withSandbox(withSandbox(async () => {})), {}],
  ["a sandbox, removed", withSandbox(({ engine, site }) => removeSite(engine, `${site.Name}-sandbox`, Date.now())), {}],
  [
    "a copy of the site under another name",
    async ({ engine, site, folder }) => {
      await exportSite(engine, site.Name, join(folder, "copy.site"), Date.now());
      await importSite(engine, join(folder, "copy.site"), { name: "copy-of-it", now: Date.now });
    },
    {},
  ],
  [
    "its removal and import",
    async ({ engine, site, folder, poll }) => {
      await exportSite(engine, site.Name, join(folder, "moved.site"), Date.now());
      await removeSite(engine, site.Name, Date.now());
      await poll;
      await importSite(engine, join(folder, "moved.site"), { now: Date.now });
    },
    { ...newEpoch, poll: 401 },
  ],
  ["`renew`", ({ engine }) => engine.replaceEpochs(), newEpoch],
  [
    "a restore",
    async ({ engine, folder }) => {
      await backUp(engine, join(folder, "a.backup"), Date.now());
      await restore(engine, join(folder, "a.backup"), join(folder, "replaced.backup"), Date.now());
    },
    { ...newEpoch, session: "ended" },
  ],
];

const paths = ["brands/1.json", "brands/2.json", "brands.json", "orderstatuses.json"];

/** A batch's run and records. A new epoch changes their ETags. */
const recordsOf = ({ json }: TestResponse) => [json.Run, json.Results.map((one: { Record: unknown }) => one.Record)];
const toCreate = (Name: string) => ({ Method: "POST", Resource: "orderstatuses", Record: { Name } });

/** Sends a request as a client of one site. */
type Client = (
  method: string,
  path: string,
  options?: CallOptions,
  to?: { readonly url: string },
) => Promise<TestResponse>;

describe.each(engines)("an operator's operation on $name", (kind) => {
  let folder: string;
  let server: TestConsole;
  /** Another process on the same database. */
  let other: Engine;
  let anna: ConsoleClient;
  /** One client per site. */
  const clients: Client[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "storefront-operations-"));
    await kind.open();
    server = await startTestConsole({ settings: { DATABASE: await kind.newDatabase() } });
    other = await openEngine(server.database, allResources);
    anna = await server.signIn("anna");
  });
  afterAll(async () => {
    await other.close();
    await server.stop();
    await kind.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Adds a site with a key. */
  async function addShop(): Promise<{ readonly site: SiteRecord; readonly send: Client }> {
    const name = `shop${clients.length + 1}`;
    const site = await createSite(other, name, { hostnames: [`${name}.example`] }, Date.now());
    const { key } = await createKey(other, site, {}, Date.now());
    const send: Client = (method, path, { headers, ...options } = {}, { url } = server) =>
      call(`${url}/restapi/${path}`, method, { key, headers: { Host: `${name}.example`, ...headers }, ...options });
    clients.push(send);
    return { site, send };
  }

  test.each(operations)("%s invalidates what it must and nothing else", async (_, operate, seen) => {
    const { site, send } = await addShop();
    const create = (Name: string) =>
      send("POST", "brands.json", { body: { Name }, headers: { "Idempotency-Key": Name } });
    await create("Acme");
    await send("PUT", "brands/1.json", { body: { Name: "Acme Ltd" } });
    await create("Bolt");
    const sendBatch = () =>
      send("POST", "batch.json", {
        body: { Operations: ["Open", "Paid"].map((Name) => toCreate(Name)) },
        headers: { "Idempotency-Key": "batch" },
      });
    const batch = await sendBatch();
    const tags: string[] = [];
    for (const path of paths) tags.push((await send("GET", path)).headers.get("ETag") ?? "");
    const page = (await send("GET", "changes.json")).json;
    const [first, last] = [page.Changes[0].Cursor, page.Next];
    const opened = await anna.call("POST", `/sites/${site.Name}/imports`, { resource: "brands", name: "supplier.csv" });
    const poll = send("GET", `changes.json?since=${last}&wait=50`);
    await waitForPolls(server, 1);

    await operate({ engine: other, site, folder, poll });

    if (seen.poll !== undefined) await poll;
    const isNewEpoch = seen.openImport === "ended";
    const reads = paths.map((path, n) => send("GET", path, { headers: { "If-None-Match": tags[n] as string } }));
    const unchanged = isNewEpoch ? 200 : 304;
    const ofChanged = seen.changed ? 200 : unchanged;
    expect((await Promise.all(reads)).map(({ status }) => status)).toEqual([
      ofChanged,
      unchanged,
      ofChanged,
      unchanged,
    ]);
    const feed = [first, last].map((since) => send("GET", `changes.json?since=${since}`));
    expect((await Promise.all(feed)).map(({ status }) => status)).toEqual([...(seen.feed ?? [200, 200])]);
    const again = await create("Acme");
    expect([again.status, again.headers.get("Idempotency-Replayed"), again.json.ID]).toEqual([201, "true", 1]);
    const [repeated, undone] = seen.run ?? [200, 200];
    const second = await sendBatch();
    expect(second.status).toBe(repeated);
    if (repeated === 200) expect(recordsOf(second)).toEqual(recordsOf(batch));
    const writes = [0, 1].map((n) =>
      send("PUT", paths[n] as string, { body: { AccountNumber: "x" }, headers: { "If-Match": tags[n] as string } }),
    );
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual([...(seen.ifMatch ?? [200, 200])]);
    const ended = await poll;
    if (typeof seen.poll === "number") expect(ended.status).toBe(seen.poll);
    else expect(ended.json.Changes[0].Record.Name).toBeOneOf(seen.poll ? [seen.poll] : ["Acme Ltd", "Bolt"]);
    const undo = await send("POST", "undo.json", { body: { Run: batch.json.Run } });
    expect([undo.status, undo.json.Deleted]).toEqual([undone, undone === 200 ? 2 : undefined]);
    expect((await anna.call("GET", `/sites/${site.Name}`)).status).toBe(seen.session ? 401 : 200);
    if (seen.session) anna = await server.signIn("anna");
    const openImport = await anna.call("GET", `/sites/${site.Name}/imports/${opened.json.id}`);
    expect(openImport.status).toBe(isNewEpoch ? 404 : 200);
    expect((await send("POST", "brands.json", { body: { Name: "New" } })).json.ID).toBe(3);
  });

  test("a server that loads the sites after all this sends the same ETags", async () => {
    const { send } = await addShop();
    for (const Name of ["Acme", "Bolt", "Cora"]) await send("POST", "brands.json", { body: { Name } });
    await send("GET", "brands.json");
    await send("DELETE", "brands/3.json");
    const tagsFrom = async (to: { readonly url: string }) => {
      const reads = clients.flatMap((client) => paths.map((path) => client("GET", path, {}, to)));
      return (await Promise.all(reads)).map(({ headers }) => headers.get("ETag"));
    };
    const another = await start(readConfig({ PORT: "0", ADMIN: "none", LOG: "silent", DATABASE: server.database }));
    expect(await tagsFrom(another)).toEqual(await tagsFrom(server));
    await another.stop();
    expect(await other.findInconsistencies()).toEqual([]);
  });
});
