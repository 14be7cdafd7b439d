// A database of any size, put in as rows.

import type { DumpedRow } from "../src/model/engine.ts";
import { makeKey } from "../src/model/key.ts";
import { sampleBrand } from "./scenarios.ts";

export interface Size {
  readonly sites: number;
  /** In each site. */
  readonly brands: number;
}

export interface Filling {
  /** The key of each of the first sites. */
  readonly keys: readonly string[];
  readonly rows: AsyncIterable<DumpedRow>;
}

/** Sites `s1.test`, `s2.test` and so on, each with a key and `brands` brands. Only the first hundred keys are kept. */
export function fillingOf({ sites, brands }: Size): Filling {
  const made = Array.from({ length: sites }, makeKey);
  return { keys: made.slice(0, 100).map(({ key }) => key), rows: rowsOf(made, brands) };
}

async function* rowsOf(keys: readonly ReturnType<typeof makeKey>[], brands: number): AsyncGenerator<DumpedRow> {
  const count = keys.length;
  yield siteRow(0, count * 2, { site: count, key: count });
  for (let site = 1; site <= count; site++) yield siteRow(site, brands, { brand: brands });
  for (const [index, { prefix, digest }] of keys.entries()) {
    const ID = index + 1;
    const name = `s${ID}`;
    yield record(0, "site", ID, { ID, Name: name, Hostnames: `${name}.test`, Default: "" });
    const times = { Created: "2026-01-31T12:00:00.000Z", Expires: "", Revoked: "" };
    const key = { ID, Site: String(ID), Prefix: prefix, Digest: digest, Label: "", Scope: "write", Rate: "", ...times };
    yield record(0, "key", ID, key);
  }
  for (let site = 1; site <= count; site++) {
    for (let ID = 1; ID <= brands; ID++) yield record(site, "brand", ID, { ID, ...sampleBrand(ID) });
  }
}

function siteRow(id: number, revision: number, counters: Record<string, number>): DumpedRow {
  return { table: "sites", row: { id, epoch: "", revision, counters: JSON.stringify(counters) } };
}

function record(site: number, resource: string, id: number, body: object): DumpedRow {
  return { table: "records", row: { site_id: site, resource, id, revision: id, body: JSON.stringify(body) } };
}
