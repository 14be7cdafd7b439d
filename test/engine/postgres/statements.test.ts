// Rules for every statement we send to PostgreSQL, as the server logs it, so that distributed engines can execute it too.

import { afterAll, describe, expect, test } from "bun:test";
import type { Intent } from "../../../src/model/change.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { tables } from "../../../src/store/database/tables.ts";
import { openEngine } from "../../../src/store/open.ts";
import { createIntent, deleteSiteRecord } from "../../support/engine/intents.ts";
import { startTestServer } from "../../support/http/server.ts";
import { startPostgres } from "../../support/postgres/server.ts";
import { waitUntil } from "../../support/time.ts";
import { webhookSecret, webhookState } from "../../support/webhooks/states.ts";

const server = await startPostgres({ settings: { log_statement: "all", log_line_prefix: "%a:" } });
await useEverything(await server.createDatabase());
const statements = statementsIn(await logged());
afterAll(() => server.remove());

test("statements: nothing that distributed engines lack, except optional notifications", () => {
  expect(statements.filter((statement) => /pg_notify/.test(statement)).length).toBeGreaterThan(0);
  for (const statement of statements) {
    expect(statement).not.toMatch(
      /advisory|\blisten\b|\bnotify\b|nextval|serial|identity|lock table|\btemp\b|\bcopy\b/i,
    );
  }
});

test("statements: every read or write of one site names it", () => {
  const whole =
    /storefront_(unused|replaced)_|^(select [a-z_, ]+ from \w+ order by|select key_id, at from key_uses)|from storefront_schema|^select <number> from sites where floor is null/;
  const data = statements
    .map((statement) => statement.replace(/^declare pages no scroll cursor for /, ""))
    .filter(
      (statement) =>
        /^(select|insert|update|delete)/.test(statement) &&
        Object.keys(tables).some((table) => statement.includes(table)),
    );
  const spread = data.filter(
    (statement) =>
      !whole.test(statement) &&
      !/site_id|key_uses|restrictions|from sites where id|into sites|sites\.id/.test(statement),
  );
  expect(data.length).toBeGreaterThan(15);
  expect(spread).toEqual([]);
});

test("tables: every key starts with the site, or is the only one", async () => {
  const url = await server.createDatabase();
  await (await openEngine(url, allResources)).close();
  const keys = await server.run(
    "select tablename, indexdef from pg_indexes where schemaname = 'public' and tablename <> 'storefront_schema'",
    /[^/]+$/.exec(url)?.[0],
  );
  for (const { tablename, indexdef } of keys) {
    const lead =
      {
        sites: "id",
        key_uses: "key_id",
        this_database: "id",
        credentials: "digest",
        restrictions: "kind",
      }[tablename as string] ?? "site_id";
    expect(indexdef).toMatch(new RegExp(`\\(${lead}[,)]`));
  }
});

test("requests that arrive together ask once whether anything has changed", async () => {
  const shop = await startTestServer({ settings: { DATABASE: await server.createDatabase() } });
  const asked = async () => (await logged()).split("select id, revision, epoch from sites where id in").length;
  const before = await asked();
  const responses = await Promise.all(Array.from({ length: 256 }, () => shop.call("GET", "/restapi/brands.json")));
  expect(responses.every(({ status }) => status === 200)).toBe(true);
  const questions = (await asked()) - before;
  expect(questions).toBeGreaterThan(0);
  expect(questions).toBeLessThan(64);
  await shop.stop();
});

describe.each([
  ["no rows", async () => {}],
  ["rows of another site", (engine: Engine) => engine.commit(manyIntents(1))],
])("with statistics of %s,", (_, fill) => {
  test("no operation reads a whole table", async () => {
    const url = await server.createDatabase();
    const database = /[^/]+$/.exec(url)?.[0] as string;
    for (const setting of ["session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0"])
      await server.run(`alter database ${database} set ${setting}`);
    const engine = await openEngine(`${url}?statement_timeout=50000`, allResources);
    await fill(engine);
    await server.run("analyze", database);
    for (const site of [2, 3]) await engine.commit(manyIntents(site));
    const before = (await logged()).length;
    await useOperations(engine, 2);
    const plans = (await logged())
      .slice(before)
      .split("LOG:")
      .filter((entry) => entry.includes("Query Text:"));
    expect(plans.filter((plan) => plan.includes("Index")).length).toBeGreaterThan(20);
    // The other tables have few rows: credentials, and one row for each site or key. A statement without a condition asks for all rows.
    const isScan = (plan: string) =>
      / where /.test(plan) && /Seq Scan on (records|journal|idempotency|webhook_)/.test(plan);
    expect(plans.filter(isScan)).toEqual([]);
    await engine.close();
  });
});

/** Each stores a record, a change and a response. */
function manyIntents(site: number): Intent[] {
  return Array.from({ length: 3000 }, (_, at) =>
    createIntent({ site, at, idempotency: { keyId: 1, name: `${at}`, digest: "" } }),
  );
}

async function useOperations(engine: Engine, site: number): Promise<void> {
  await useWebhooks(engine, site);
  await engine.saveKeyUses(new Map([[1, 1]]));
  await engine.readLastKeyUses();
  await engine.saveBackupTime(1);
  await engine.readLastBackupTime();
  await engine.pruneJournal(site, 2000, 1000);
  await engine.saveCredential({ digest: "d", kind: "link", operator: 1, expiresAt: 2 }, 1);
  await engine.findCredential("d");
  await engine.consumeCredential("d");
  await engine.deleteCredentials(1);
  await deleteSiteRecord(engine, site);
  await engine.readSitesToDrop();
  await engine.dropSite(site);
  await engine.replaceEpochs();
}

/** Returns the log of the server so far, from a pipe. */
async function logged(): Promise<string> {
  const mark = `select '${crypto.randomUUID()}'`;
  await server.run(mark);
  await waitUntil(() => server.log().includes(mark), "the log");
  return server.log();
}

/** Does everything that the program does with a database. */
async function useEverything(url: string): Promise<void> {
  const shop = await startTestServer({ settings: { DATABASE: url } });
  const { engine } = shop;
  const headers = { "Idempotency-Key": "one" };
  for (const _ of [1, 2]) await shop.call("POST", "/restapi/brands.json", { body: { Name: "a" }, headers });
  await shop.call("PUT", "/restapi/brands/1.json", { body: { Name: "b" } });
  await shop.call("DELETE", "/restapi/brands/1.json");
  await shop.call("DELETE", "/restapi/brands/9.json");
  await shop.call("GET", "/restapi/brands.json");
  await engine.commit([createIntent({ site: shop.site.ID })]);
  await shop.call("GET", "/restapi/brands.json");
  await engine.probeWrite();
  await engine.readLastKeyUses();
  await engine.saveKeyUses(new Map([[1, 1]]));
  await engine.readRecord(shop.site.ID, "brand", 2);
  await engine.readPage(shop.site.ID, "brand", { limit: 1, offset: 0 });
  await engine.readRowsAfter(shop.site.ID, "brand", { after: 0, limit: 1 });
  const update = createIntent({ site: shop.site.ID, operation: "update", id: 2, values: { Name: "c" } });
  const idempotency = { site: shop.site.ID, keyId: 1, name: "together", digest: "batch:", at: 1, replayData: "" };
  await engine.commitAtomically([[update]], () => {}, { run: { id: "k3J9aZ0q", size: 1 }, idempotency });
  await engine.readRows(shop.site.ID, [{ resource: "brand", id: 1 }]);
  await useWebhooks(engine, shop.site.ID);
  await engine.findInconsistencies();
  const rows = await Array.fromAsync(engine.dump());
  await engine.replaceAllData(
    (async function* () {
      yield* rows;
    })(),
  );
  await engine.replaceEpochs();
  const ofSite = await Array.fromAsync(engine.dump(shop.site.ID));
  await engine.importSiteRows(
    99,
    (async function* () {
      for (const { table, row } of ofSite.toReversed())
        yield { table, row: { ...row, ...(table === "sites" ? { id: 99 } : { site_id: 99 }) } };
    })(),
  );
  while (await engine.deleteExpiredResponses(Number.MAX_SAFE_INTEGER, 10));
  await deleteSiteRecord(engine, shop.site.ID);
  await engine.dropSite(shop.site.ID);
  await shop.stop();
  await (await openEngine(url, allResources)).close();
}

async function useWebhooks(engine: Engine, site: number): Promise<void> {
  const state = webhookState({ site });
  await engine.saveWebhook(state, [webhookSecret()]);
  await engine.acquireWebhookLease(state, "one", 1000);
  await engine.compareAndSetWebhook(state, { cursor: state.cursor, rewinds: 0, resumes: 0 }, { nextAt: 1 });
  await engine.rotateWebhookSecret(state, "whsec_", 2, 3);
  await engine.addWebhookAttempt(state, { at: 1, status: 200, milliseconds: 1, fault: null });
  await engine.readWebhookStates();
  await engine.readWebhookStates([state]);
  await engine.readWebhookSecrets(state);
  await engine.readLatestAttempts(state.site, 2);
  await engine.readWebhookAttempts(state);
  await engine.readWebhookExchange(state, 1);
  await engine.readDatabaseId();
  await engine.deleteWebhook(state);
}

/** Returns the different statements of the program in a server's log. Numbers are removed, except in settings. */
function statementsIn(log: string): string[] {
  const entries = log.split(/\n(?!\t)/).filter((entry) => entry.startsWith("storefront:LOG:"));
  const texts = entries.flatMap(
    (entry) => /^storefront:LOG: {2}(?:statement|execute [^:]+): ([\s\S]*)$/.exec(entry)?.[1] ?? [],
  );
  const single = texts.flatMap((text) => text.split(/;\s*(?=[a-z])/));
  return [...new Set(single.map(normalised))].sort();
}

function normalised(text: string): string {
  return (
    text
      .replace(/^\s*--.*$/gm, "")
      .replace(/'[0-9a-f]{64}'/g, "'<digest>'")
      .replace(/(?<=pg_notify\('storefront_commits', ')[0-9, ]*/, "<changed>")
      // As PostgreSQL words the definition of a view.
      .replace(/(?<=^create or replace view \w+ as)\s+SELECT [\s\S]*/, " <definition>")
      .replace(/(?<=storefront_(unused|replaced)_)[0-9a-f]+/g, "<run>")
      .replace(/(?<![$\w']|^set local \w+ = )-?[0-9]+(?:, [0-9]+)*(?![\w'])/g, "<number>")
      .replace(/\s+/g, " ")
      .replace(/;\s*$/, "")
      .trim()
  );
}
