// A site with records, keys, a webhook and a history, for looking at the console's pages.

import { createSite } from "../../../src/operator/sites/sites.ts";
import type { TestServerOptions } from "../http/server.ts";
import { startTestConsole, type TestConsole } from "./server.ts";

const brands = [
  "Alder & Co",
  "Barn Owl",
  "Copperfield",
  "Dunmore Pottery",
  "Elm Street Linens",
  "Fernhill",
  "Greywether",
  "Harbour Lane",
  "Ivy House",
  "Juniper Row",
];

const locations = [
  ["Leeds Briggate", "14 Briggate", "Leeds", "LS1 6HD", "0113 496 0142"],
  ["York Stonegate", "27 Stonegate", "York", "YO1 8AN", "01632 960 518"],
  ["Bristol Harbourside", "3 Canons Road", "Bristol", "BS1 5UH", "0117 496 0377"],
] as const;

const otherPages = {
  brands: "shop/brands",
  keys: "shop/keys",
  requests: "shop/requests",
  webhooks: "shop/webhooks",
  history: "shop/history",
  import: "shop/import",
  sites: "shop/sites",
  operators: "shop/operators",
  audit: "shop/audit",
};

interface FilledSite extends TestConsole {
  /** The console's pages for an operator of all sites, by what they show. */
  readonly pages: Readonly<Record<string, string>>;
}

/** Starts a server with a site named `shop` and another named `outlet`. */
export async function startFilledSite(options: TestServerOptions = {}): Promise<FilledSite> {
  const server = await startTestConsole(options);
  await createSite(server.engine, "outlet", { hostnames: ["outlet.example"] }, options.now?.() ?? Date.now());
  const anna = await server.signIn("anna");
  const records = "/sites/shop/records";
  for (const Name of brands) await anna.call("POST", `${records}/brands`, { Name });
  for (const Name of ["Received", "Being packed", "Dispatched", "Returned"])
    await anna.call("POST", `${records}/orderstatuses`, { Name });
  let location = 0;
  for (const [Name, AddressLine1, Town, Postcode, Daytime] of locations) {
    const Address = { AddressLine1, Town, Postcode, Country: "GB" };
    const { json } = await anna.call("POST", `${records}/locations`, { Name, Address, Telephone: { Daytime } });
    location ||= json.record.ID;
  }
  const ben = await server.signIn("ben");
  await ben.change(`${records}/brands`, 2, { Name: "Barn Owl Books" });
  await ben.change(`${records}/locations`, location, { Telephone: { Daytime: "0113 496 0155" } });
  for (const label of ["warehouse till", "price comparison"])
    await anna.call("POST", "/sites/shop/keys", { label, scope: "read", rate: null, expires: null });
  const keys = (await anna.call("GET", "/sites/shop/keys")).json.keys as { id: number; label: string }[];
  const old = keys.find(({ label }) => label === "price comparison");
  const revoked = await anna.call("POST", `/sites/shop/keys/${old?.id}/revoke`, {});
  if (revoked.status !== 200) throw new Error(`couldn't revoke the key: ${revoked.text}`);
  const pages = { ...otherPages, overview: "shop", location: `shop/locations/${location}` };
  return { ...server, pages };
}
