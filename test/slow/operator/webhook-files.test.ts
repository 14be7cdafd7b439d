// Webhooks in files and copies keep their cursor and secrets, but only one database delivers them.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { copyDatabase } from "../../../src/operator/backup/copy.ts";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { importSite } from "../../../src/operator/site-files/import-site.ts";
import { createSite, getSite, listSites } from "../../../src/operator/sites/sites.ts";
import { createWebhook } from "../../../src/operator/webhooks/webhook-creation.ts";
import { listWebhooks, webhookRefOf } from "../../../src/operator/webhooks/webhook-list.ts";
import { pauseWebhook, resumeWebhook, rotateWebhook } from "../../../src/operator/webhooks/webhooks.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import type { AddressPolicy } from "../../../src/webhooks/address-policy.ts";
import { engines } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";

const now = Date.parse("2026-01-31T12:00:00Z");
const policy: AddressPolicy = { allow: [], isLoopbackAllowed: true, lookup: async () => ["93.184.216.34"] };

const folder = mkdtempSync(join(tmpdir(), "storefront-webhooks-"));
await Promise.all(engines.map((kind) => kind.open()));
afterAll(async () => {
  await Promise.all(engines.map((kind) => kind.close()));
  rmSync(folder, { recursive: true, force: true });
});

describe.each(engines)("webhooks on $name", (kind) => {
  const opened: Engine[] = [];
  const open = async (of = kind) => {
    const engine = await openEngine(await of.newDatabase(), allResources);
    opened.push(engine);
    return engine;
  };
  afterEach(async () => {
    for (const engine of opened.splice(0)) await engine.close();
  });
  const file = (name: string) => join(folder, `${kind.name}-${name}`);

  /** Opens a database whose site `shop` has three changes, and a webhook with two secrets that starts after the second. */
  const openWithShop = async (url = "https://erp.example/") => {
    const engine = await open();
    await createSite(engine, "first", {}, now);
    const site = await createSite(engine, "shop", {}, now);
    await engine.commit([createIntent({ site: site.ID }), createIntent({ site: site.ID })]);
    const { webhook } = await createWebhook(engine, site, { url, resources: [], since: "now" }, policy, now);
    await rotateWebhook(engine, webhook.ID, now);
    await engine.commit([createIntent({ site: site.ID })]);
    return engine;
  };
  const webhooksOf = async (engine: Engine) =>
    Promise.all(
      (await listWebhooks(engine)).map(async ({ ID, status, detail, Reason, state, ...webhook }) => {
        const secrets = await engine.readWebhookSecrets(webhookRefOf({ ...webhook, Reason, ID }));
        return { ID, status, reason: detail || Reason, cursor: state?.cursor, secrets };
      }),
    );
  const pauseReason = "it was copied from another database";

  test("restore: stay active in the same database, but are paused in another until resumed", async () => {
    const engine = await openWithShop();
    const before = await webhooksOf(engine);
    expect(before).toMatchObject([{ status: "active", secrets: [{ until: null }, { createdAt: now }] }]);
    await backUp(engine, file("backup"), now);
    await restore(engine, file("backup"), file("kept"), now);
    expect(await webhooksOf(engine)).toEqual(before);
    for (const other of engines) {
      const target = await open(other);
      await restore(target, file("backup"), file("none"), now);
      expect(await webhooksOf(target)).toEqual(
        before.map((one) => ({ ...one, status: "paused", reason: pauseReason })),
      );
      expect(await target.findInconsistencies()).toEqual([]);
      await resumeWebhook(target, 1, policy, now);
      expect(await webhooksOf(target)).toEqual(before);
    }
    await restore(engine, file("kept"), file("kept-too"), now);
    expect(await webhooksOf(engine)).toEqual(before);
  });

  test("copy: paused in the copy only", async () => {
    const engine = await openWithShop();
    const before = await webhooksOf(engine);
    for (const other of engines) {
      const target = await open(other);
      await copyDatabase(engine, target);
      expect(await webhooksOf(target)).toMatchObject([
        { status: "paused", reason: pauseReason, cursor: before[0]?.cursor },
      ]);
    }
    expect(await webhooksOf(engine)).toEqual(before);
  });

  test("import-site: paused, with cursor and secrets, even in their own database", async () => {
    const engine = await openWithShop();
    await exportSite(engine, "shop", file("site"), now);
    const [before] = await webhooksOf(engine);
    for (const target of [engine, await open(), await open(engines.find((other) => other !== kind))]) {
      const imported = await importSite(target, file("site"), { name: "copy", now: () => now });
      expect(imported).toMatchObject({ webhooks: 1, omittedWebhooks: [], records: 3 });
      const found = (await webhooksOf(target)).at(-1);
      expect(found).toMatchObject({ status: "paused", cursor: before?.cursor, secrets: before?.secrets });
      const [state] = (await listWebhooks(target, await getSite(target, "copy"))).map((webhook) => webhook.state);
      expect(state).toMatchObject({ home: "", holder: null, first: 0, last: 0 });
      expect(await target.findInconsistencies()).toEqual([]);
      expect((await resumeWebhook(target, found?.ID as number, policy, now)).status).toBe("active");
    }
    expect((await webhooksOf(engine))[0]).toEqual(before as never);
  });

  test("import-site: imported from a site without writes, and already paused ones keep the time and reason", async () => {
    const engine = await open();
    const site = await createSite(engine, "empty", {}, now);
    await createWebhook(engine, site, { url: "https://erp.example/", resources: [], since: "now" }, policy, now);
    await pauseWebhook(engine, 1, now);
    await exportSite(engine, "empty", file("empty"), now);
    const target = await open();
    expect(await importSite(target, file("empty"), { now: () => now + 9 })).toMatchObject({ webhooks: 1, records: 0 });
    expect(await listWebhooks(target)).toMatchObject([
      { Paused: "2026-01-31T12:00:00.000Z", Reason: "paused by an operator", state: { cursor: "0.0" } },
    ]);
  });

  test.each([
    "http://127.0.0.1:9000/",
    "https://localhost/",
    "https://10.0.0.7/",
  ])("import-site: those to %s are omitted and listed", async (url) => {
    const engine = await openWithShop("https://erp.example/");
    await exportSite(engine, "shop", file("site"), now);
    forge(file("site"), (rows) => edit(rows, "webhook", { URL: url }));
    const target = await open();
    const imported = await importSite(target, file("site"), { now: () => now });
    expect(imported).toMatchObject({ webhooks: 0, omittedWebhooks: [{ url }] });
    expect([await listWebhooks(target), await target.readWebhookStates()]).toEqual([[], []]);
  });

  const forged: [string, (rows: DumpedRow[]) => void][] = [
    ["a URL with a terminal escape", (rows) => edit(rows, "webhook", { URL: "https://erp.example/\u001b[2J" })],
    ["a URL with a line break", (rows) => edit(rows, "webhook", { URL: "https://erp.example/\nHost: x" })],
    ["a URL with another scheme", (rows) => edit(rows, "webhook", { URL: "file:///etc/passwd" })],
    ["an unknown field", (rows) => edit(rows, "webhook", { Secret: "x" })],
    ["an invalid time", (rows) => edit(rows, "webhook", { Paused: "9999-99-99T99:99:99.999Z" })],
    ["a reason with a terminal escape", (rows) => edit(rows, "webhook", { Reason: "\u001b[31m" })],
    ["an invalid cursor", (rows) => change(rows, "webhook_state", { cursor: "x.1" })],
    ["an epoch with a quote", (rows) => change(rows, "webhook_state", { epoch: "a'b" })],
    ["a negative number of rewinds", (rows) => change(rows, "webhook_state", { rewinds: -1 })],
    ["a second state", (rows) => rows.push(rowOf(rows, "webhook_state"))],
    ["a secret in another form", (rows) => change(rows, "webhook_secrets", { secret: "whsec_short" })],
    ["a secret with an invalid time", (rows) => change(rows, "webhook_secrets", { created_at: -1 })],
    ["two current secrets", (rows) => rows.push(rowOf(rows, "webhook_secrets", (row) => row.until === null))],
    [
      "21 webhooks",
      (rows) => rows.splice(3, 0, ...Array.from({ length: 20 }, () => rowOf(rows, "records", isWebhook))),
    ],
  ];
  test.each(forged)("import-site: fails for a file with %s, and none of its rows stay", async (_, damage) => {
    const engine = await openWithShop();
    await exportSite(engine, "shop", file("forged"), now);
    forge(file("forged"), damage);
    const target = await open();
    const problem = await importSite(target, file("forged"), { now: () => now }).catch((error) => error);
    expect(["bad-request", "invalid-record"]).toContain(problem.code);
    expect(problem.message).not.toContain("\u001b");
    expect([await listSites(target), await listWebhooks(target), await target.readWebhookStates()]).toEqual([
      [],
      [],
      [],
    ]);
    expect(await target.findInconsistencies()).toEqual([]);
  });

  test("import-site: those removed during the export are imported as incomplete", async () => {
    const engine = await openWithShop();
    await exportSite(engine, "shop", file("removed"), now);
    forge(file("removed"), (rows) => {
      const rest = rows.filter(({ table }) => !table.startsWith("webhook_"));
      rows.splice(0, rows.length, ...rest);
    });
    const target = await open();
    await importSite(target, file("removed"), { now: () => now });
    expect(await listWebhooks(target)).toMatchObject([{ status: "incomplete" }]);
    expect(await target.findInconsistencies()).toEqual([expect.stringContaining("webhook 1 is incomplete")]);
  });

  test("import-site: a forged state gets no home or lease, and rows of unknown webhooks are skipped", async () => {
    const engine = await openWithShop();
    await exportSite(engine, "shop", file("forged"), now);
    const target = await open();
    const identity = await target.readDatabaseId();
    forge(file("forged"), (rows) => {
      change(rows, "webhook_state", { home: identity, holder: "me", lease_until: now * 2, next_at: now * 2 });
      const state = rowOf(rows, "webhook_state");
      for (let id = 100; id < 200; id++) rows.push({ ...state, row: { ...state.row, webhook_id: id } });
    });
    await importSite(target, file("forged"), { now: () => now });
    expect(await target.readWebhookStates()).toMatchObject([{ home: "", holder: null, leaseUntil: 0, nextAt: 0 }]);
  });
});

function rowOf(rows: readonly DumpedRow[], table: string, isWanted = (_: DumpedRow["row"]) => true): DumpedRow {
  return rows.find((dumped) => dumped.table === table && isWanted(dumped.row)) as DumpedRow;
}

function isWebhook({ resource }: DumpedRow["row"]): boolean {
  return resource === "webhook";
}

/** Changes a table's first row. */
function change(rows: DumpedRow[], table: string, values: DumpedRow["row"]): void {
  const row = rowOf(rows, table);
  rows[rows.indexOf(row)] = { table, row: { ...row.row, ...values } };
}

/** Changes the system site's first record of a resource. */
function edit(rows: DumpedRow[], resource: string, values: object): void {
  const row = rowOf(rows, "records", (one) => one.resource === resource);
  const body = JSON.stringify({ ...JSON.parse(String(row.row.body)), ...values });
  rows[rows.indexOf(row)] = { table: "records", row: { ...row.row, body } };
}

/** Changes the rows of an `export-site` file, and writes it with a correct checksum. */
function forge(path: string, damage: (rows: DumpedRow[]) => void): void {
  const [header = "", ...lines] = gunzipSync(readFileSync(path)).toString().trim().split("\n");
  const rows = lines.slice(0, -1).map((line): DumpedRow => {
    const [table, row] = JSON.parse(line);
    return { table, row };
  });
  damage(rows);
  const body = rows.map(({ table, row }) => `${JSON.stringify([table, row])}\n`).join("");
  const sha256 = new Bun.CryptoHasher("sha256").update(body).digest("hex");
  writeFileSync(path, gzipSync(`${header}\n${body}${JSON.stringify({ rows: rows.length, sha256 })}\n`));
}
