// Makes sample rows for a database of any size.

import { createApiKey } from "../src/model/api-key.ts";
import type { DumpedRow } from "../src/model/engine.ts";
import { sampleBrand } from "./scenarios.ts";

/** Its hostname is `<name>.test`. */
export interface SampleSite {
  readonly name: string;
  readonly brands: number;
  /** Whether the journal has an entry for each brand's create. */
  readonly isJournaled?: boolean;
}

export interface Filling {
  /** For the first 101 sites. */
  readonly keys: readonly string[];
  readonly rows: AsyncIterable<DumpedRow>;
}

/** Gives each site a key and its brands. */
export function fillingOf(sites: readonly SampleSite[]): Filling {
  const made = sites.map(() => createApiKey());
  return { keys: made.slice(0, 101).map(({ key }) => key), rows: rowsOf(sites, made) };
}

async function* rowsOf(
  sites: readonly SampleSite[],
  keys: readonly ReturnType<typeof createApiKey>[],
): AsyncGenerator<DumpedRow> {
  const count = sites.length;
  yield siteRow(0, count * 2, { site: count, key: count }, false);
  for (const [index, { brands, isJournaled = false }] of sites.entries())
    yield siteRow(index + 1, brands, { brand: brands }, isJournaled);
  for (const [index, { prefix, digest }] of keys.entries()) {
    const ID = index + 1;
    const name = sites[index]?.name as string;
    yield record(0, "site", ID, { ID, Name: name, Hostnames: `${name}.test`, Default: "" });
    const times = { Created: "2026-01-31T12:00:00.000Z", Expires: "", Revoked: "" };
    const key = { ID, Site: String(ID), Prefix: prefix, Digest: digest, Label: "", Scope: "write", Rate: "", ...times };
    yield record(0, "key", ID, key);
  }
  for (const [index, { brands }] of sites.entries()) {
    for (let ID = 1; ID <= brands; ID++) yield record(index + 1, "brand", ID, { ID, ...sampleBrand(ID) });
  }
  for (const [index, { brands, isJournaled }] of sites.entries()) {
    for (let ID = 1; isJournaled && ID <= brands; ID++) yield creation(index + 1, ID);
  }
}

function siteRow(id: number, revision: number, lastIds: Record<string, number>, isJournaled: boolean): DumpedRow {
  // A resource's last record has the record count as its ID and revision.
  const counts = Object.entries(lastIds).map(([name, count]) => [name, { count, revision: count }]);
  const counted = { last_ids: JSON.stringify(lastIds), counts: JSON.stringify(Object.fromEntries(counts)), last_at: 0 };
  // A site without journal entries looks as if its journal had been pruned.
  const floor = isJournaled ? 0 : revision;
  const row = { id, epoch: "filled", revision, floor, ...counted };
  return { table: "sites", row };
}

function creation(site: number, ID: number): DumpedRow {
  const change = {
    revision: ID,
    at: Date.now(),
    actor: "operator:bench",
    run: "bench",
    operation: "create",
    before: null,
  };
  const body = JSON.stringify({ ID, ...sampleBrand(ID) });
  return { table: "journal", row: { site_id: site, resource: "brand", id: ID, body, ...change } };
}

function record(site: number, resource: string, id: number, body: object): DumpedRow {
  return { table: "records", row: { site_id: site, resource, id, revision: id, body: JSON.stringify(body) } };
}
