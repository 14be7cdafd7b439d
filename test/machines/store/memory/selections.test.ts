// A cached selection is updated with later changes, or rebuilt if those are no longer known.

import { expect, test } from "bun:test";
import { parseListParameters } from "../../../../src/http/records/list-parameters.ts";
import { orderStatus } from "../../../../src/resources/order-status.ts";
import { Collection } from "../../../../src/store/memory/collection.ts";

const queries = ["sort=Name", "sort=-Name,ID", "filter[Name][contains]=b", "filter[Name][contains]=B&sort=-Name"];
/** Numbers of consecutive changes. The collection keeps the last 256. */
const histories = [[1], [255], [256], [257], [600], [200, 56], [200, 57], [1, 256], [257, 1], [100, 100, 100, 1]];

async function idsOf(collection: Collection, query: string): Promise<readonly number[]> {
  const { filters, sort } = parseListParameters(orderStatus, new URLSearchParams(query)) ?? { filters: [], sort: [] };
  return collection.selections.select(await collection.version(), filters, sort, () => true);
}

/** IDs far apart, so that several changed records come between two others. */
const nameOf = (id: number, round: number) => `${"abc"[(id + round) % 3]}${(id * 7919 + round * 104_729) % 1009}`;
const bodyOf = (id: number, round: number) => JSON.stringify({ ID: id, Name: nameOf(id, round) });

for (const query of queries) {
  test.each(
    histories.map((sizes) => [sizes.join(", then "), sizes] as const),
  )(`${query} after changes of %s records equals a new one`, async (_, sizes) => {
    const kept = new Collection(orderStatus);
    const present = new Map<number, string>();
    let revision = 0;
    const set = (id: number, body: string | null) => {
      kept.set({ id, revision: ++revision, body });
      if (body === null) present.delete(id);
      else present.set(id, body);
    };
    for (let id = 1; id <= 700; id++) set(id, bodyOf(id, 0));
    await idsOf(kept, query);
    for (const [round, size] of sizes.entries()) {
      for (let i = 0; i < size; i++) set(1 + i, i % 10 === 9 ? null : bodyOf(1 + i, round + 1));
      // Each change makes a new version.
      await kept.version();
    }
    const rebuilt = new Collection(orderStatus);
    for (const [id, body] of present) rebuilt.set({ id, revision: 1, body });
    expect(await idsOf(kept, query)).toEqual(await idsOf(rebuilt, query));
    expect(await idsOf(kept, query)).toEqual(await idsOf(rebuilt, query));
  });
}
