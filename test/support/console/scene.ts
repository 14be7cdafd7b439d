// Fills the site for pictures: days of changes by several operators and apps, an import, keys, webhooks with deliveries, and a backup.

import { setKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { readHeadCursor } from "../engine/head-cursor.ts";
import { createTestWebhook } from "../webhooks/test-webhook.ts";
import { startFilledSite } from "./filled-site.ts";
import type { ConsoleClient } from "./server.ts";

type FilledSite = Awaited<ReturnType<typeof startFilledSite>>;

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

const supplierFile = [
  "Name;Account number;Country",
  ...[
    "Larkspur",
    "Meadowsweet",
    "North & Finch",
    "Oak Hill Candles",
    "Pebble Beach",
    "Quillfeather",
    "Rosehip",
    "Saltmarsh",
  ].map((name, index) => `${name};SUP-${101 + index};GB`),
  "Thistledown;SUP-109;IE",
  "Umberline;SUP-110;FR",
].join("\r\n");

/** Has a new brand, changed brands, an unchanged one, and two rows that get rejected. */
export const fileWithFaults = [
  "Name;Account number;Country;Remarks",
  "Larkspur;SUP-101;GB;",
  "Rosehip;SUP-207;GB;new account",
  "Saltmarsh;SUP-108;NL;moved",
  "Wrenfield;SUP-111;GB;",
  "Yarrow & Sons;SUP-112;IE;",
  ";SUP-113;GB;name follows",
  "Zinnia;SUP-114;Germany;",
].join("\r\n");

/** Starts the site a few days ago, and lets the days pass. */
export async function startScene(): Promise<FilledSite> {
  let ago = 9 * day;
  const server = await startFilledSite({ now: () => Date.now() - ago });
  const { engine } = server;
  await createSite(engine, "garden", { hostnames: ["garden.example", "www.garden.example"] }, Date.now() - ago);
  await server.addOperator("carla", ["outlet", "garden"]);
  ago = 2 * day;
  await importFile(await server.signIn("anna"), supplierFile);
  await makeKeys(server);
  await makeWebhooks(server);
  ago = 3 * hour;
  const records = "/sites/shop/records";
  await (await server.signIn("anna")).call("DELETE", `${records}/brands`, { ids: [7, 9] });
  ago = 40 * minute;
  await (await server.signIn("ben")).change(`${records}/locations`, 2, { Manager: "Ada Smith" });
  ago = 12 * minute;
  await server.call("POST", "/restapi/brands.json", { body: { Name: "Velvet Moth" } });
  await deliver(server);
  ago = 0;
  await sendRequests(server);
  await engine.saveBackupTime(Date.now() - 9 * hour);
  return server;
}

/** Imports brands from CSV, matched by name. */
async function importFile(client: ConsoleClient, text: string): Promise<void> {
  const { id } = (await client.call("POST", "/sites/shop/imports", { resource: "brands", name: "supplier.csv" })).json;
  const path = `/sites/shop/imports/${id}`;
  const type = { "Content-Type": "application/octet-stream" };
  await client.call("PUT", `${path}/parts/0`, new TextEncoder().encode(text), type);
  const { format, encoding, delimiter } = (await client.call("POST", `${path}/preview`, {})).json;
  const fields = { Name: "Name", AccountNumber: "Account number", "Address.Country": "Country" };
  await client.call("POST", `${path}/check`, { format, encoding, delimiter, mapping: { fields }, match: "Name" });
  await untilNot(client, path, "checking");
  await client.call("POST", `${path}/run`, { without: [], withoutKinds: [] });
  await untilNot(client, path, "running");
}

async function untilNot(client: ConsoleClient, path: string, state: string): Promise<void> {
  while ((await client.call("GET", path)).json.state === state) await Bun.sleep(20);
}

async function makeKeys({ engine, signIn }: FilledSite): Promise<void> {
  const anna = await signIn("anna");
  const list = async () =>
    (await anna.call("GET", "/sites/shop/keys")).json.keys as { id: number; prefix: string; label: string }[];
  for (const [label, scope, rate, expires] of [
    ["newsletter", "read", null, null],
    ["marketplace", "write", 20, new Date(Date.now() + 12 * day).toISOString()],
  ])
    await anna.call("POST", "/sites/shop/keys", { label, scope, rate, expires });
  const unnamed = (await list()).find(({ label }) => label === "");
  if (unnamed) await setKey(engine, unnamed.prefix, { label: "website" }, Date.now() - 2 * day);
  const retired = (await list()).find(({ label }) => label === "price comparison");
  await anna.call("POST", `/sites/shop/keys/${retired?.id}/revoke`, {});
  const now = Date.now();
  const uses = {
    website: 2 * minute,
    "warehouse till": 25 * minute,
    marketplace: 5 * hour,
    "price comparison": 3 * day,
  };
  const found = await list();
  await engine.saveKeyUses(
    new Map(Object.entries(uses).map(([label, age]) => [found.find((key) => key.label === label)?.id ?? 0, now - age])),
  );
}

const urls = {
  good: "https://erp.example/storefront/changes",
  slow: "https://search.example/hooks/storefront?token=4f9a",
  paused: "https://mail.example/in",
};

/** Adds three webhooks: one up to date, one failing and one paused. The last two have many changes to deliver. */
async function makeWebhooks({ engine, site, signIn }: FilledSite): Promise<void> {
  const now = Date.now();
  const failing = { failures: 5, failingSince: now - 3 * hour, nextAt: now + 25 * minute };
  const slow = await createTestWebhook(engine, site.ID, urls.slow, { ...failing, resources: "brands" });
  for (const [age, status, milliseconds, fault] of [
    [180, 503, 212, "the receiver responded with 503"],
    [150, 503, 187, "the receiver responded with 503"],
    [95, null, 15_000, "no response within 15 s"],
    [30, 502, 240, "the receiver responded with 502"],
  ] as const)
    await engine.addWebhookAttempt(slow, { at: now - age * minute, status, milliseconds, fault });
  const paused = await createTestWebhook(engine, site.ID, urls.paused, { resources: "locations" });
  await (await signIn("ben")).call("POST", `/sites/shop/webhooks/${paused.webhook}/pause`, {});
}

/** Sends API requests, some of which get rejected. The console only logs successful ones once somebody has looked. */
async function sendRequests({ call, issueKey, signIn }: FilledSite): Promise<void> {
  await (await signIn("anna")).call("GET", "/sites/shop/requests");
  const [till, website] = [await issueKey({ label: "till" }), await issueKey({ label: "website", rights: ["read"] })];
  await call("GET", "/restapi/brands.json?sort=Name&limit=20", { key: website });
  await call("GET", "/restapi/locations/2.json", { key: website });
  await call("POST", "/restapi/brands.json", { key: till, body: { Name: "", Address: { Country: "Germany" } } });
  await call("GET", "/restapi/brandz.json", { key: till });
  await call("GET", "/restapi/orderstatuses.json", { key: till });
  await call("POST", "/restapi/brands.json", { key: website, body: { Name: "Oak" } });
  await call("GET", "/restapi/brands.json", { key: null });
  await call("GET", "/restapi/changes.json?limit=100", { key: till });
}

/** The up-to-date webhook starts at the end, so nothing is sent. */
async function deliver({ engine, site }: FilledSite): Promise<void> {
  const cursor = await readHeadCursor(engine, site.ID);
  const [head] = await engine.readHeads([site.ID]);
  const good = await createTestWebhook(engine, site.ID, urls.good, { cursor, epoch: head?.epoch ?? "" });
  for (const [age, milliseconds] of [
    [180, 84],
    [41, 131],
    [40, 76],
    [12, 92],
  ] as const)
    await engine.addWebhookAttempt(good, { at: Date.now() - age * minute, status: 200, milliseconds, fault: null });
}
