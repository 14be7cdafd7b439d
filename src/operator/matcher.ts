// Matches the rows of an import with records.

import { nearestPath } from "../lib/nearest.ts";
import { withOwnMemory } from "../lib/own-memory.ts";
import { createPace } from "../lib/pace.ts";
import type { Engine, Head } from "../model/engine.ts";
import { type Fault, invalidRecord, Refusal } from "../model/errors.ts";
import { isId, type StorefrontRecord, valueAt } from "../model/record.ts";
import { findLeaf, type Leaf, type Resource } from "../model/resource.ts";
import { givenId } from "./import-summary.ts";

/** The ID of the record to update or to create; undefined to create one with the next ID. */
export type Match =
  | { readonly kind: "update"; readonly id: number }
  | { readonly kind: "create"; readonly id: number | undefined };

/** A row as an object whose fields are not validated yet. */
export type RowInput = Readonly<Record<string, unknown>>;

export interface Matcher {
  /** The value of the field by which rows are matched; undefined when they are matched by ID. */
  keyOf(input: RowInput): string | undefined;
  /** @throws Refusal `invalid-record` when the row cannot be matched, `conflict` when several records match */
  find(input: RowInput): Match;
  /** Notes that the row is valid, with the ID of its record if it is known, so that later rows can match it. */
  note(input: RowInput, id: number | undefined): void;
}

/** The largest ID that a row may create: the IDs of later records count from the largest. */
const maxNewId = 999_999_999_999_999;

/** The field named `field`; undefined for the ID. @throws Refusal `bad-request` when there is no such field */
export function findMatchField(resource: Resource, field = "ID"): Leaf | undefined {
  const leaf = findLeaf(resource, field);
  if (leaf || field === "ID") return leaf;
  const paths = ["ID", ...resource.leaves.map(({ path }) => path)];
  const meant = nearestPath(field, paths);
  const hint = meant ? `did you mean \`${meant}\`?` : `the fields of ${resource.plural} are ${paths.join(", ")}`;
  throw new Refusal("bad-request", `invalid --match \`${field}\`: ${hint}`);
}

/**
 * Matches rows with the records that a site has at `head`. Only what identifies them is kept in memory.
 * @throws Refusal `bad-request` when there is no such field
 */
export async function readMatcher(
  engine: Pick<Engine, "readSite">,
  site: number,
  resource: Resource,
  field?: string,
): Promise<{ readonly head: Head; readonly matcher: Matcher }> {
  const leaf = findMatchField(resource, field);
  return engine.readSite(site, async ({ head, portions }) => {
    const ids = new Set<number>();
    const byValue: IdsByValue = new Map();
    const pace = createPace();
    for await (const rows of portions) {
      await pace();
      for (const { resource: name, id, body } of rows) {
        if (name !== resource.name || body === null) continue;
        if (leaf) addId(byValue, valueAt(JSON.parse(body), leaf), id);
        else ids.add(id);
      }
    }
    return { head, matcher: leaf ? matchByField(leaf, byValue) : matchById(ids) };
  });
}

function matchById(present: Set<number>): Matcher {
  // The store assigns consecutive IDs, so ranges of them take the same memory for any number of rows.
  const assigned: { from: number; to: number }[] = [];
  return {
    keyOf: () => undefined,
    find({ ID }) {
      if (ID === undefined) return { kind: "create", id: undefined };
      if (!isId(ID)) throw badId(`must be a whole number from 1, not ${JSON.stringify(ID)?.slice(0, 40)}`);
      // The record of an earlier row is another one than the row means, and updating it would lose that row.
      if (assigned.some(({ from, to }) => from <= ID && ID <= to)) throw fault(givenId(ID));
      if (present.has(ID)) return { kind: "update", id: ID };
      if (ID > maxNewId) throw badId(`must be at most ${maxNewId}`);
      return { kind: "create", id: ID };
    },
    note({ ID }, id) {
      if (id === undefined) return;
      const last = assigned.at(-1);
      if (ID !== undefined) present.add(id);
      else if (last?.to === id - 1) last.to = id;
      else assigned.push({ from: id, to: id });
    },
  };
}

/** The IDs of the records with a value in a field. */
type IdsByValue = Map<string, number[]>;

function addId(ids: IdsByValue, value: string, id: number): void {
  const known = ids.get(value);
  // A part of a file would keep all the text in memory that was read with it.
  if (!known) ids.set(withOwnMemory(value), [id]);
  else if (!known.includes(id)) known.push(id);
}

function matchByField(leaf: Leaf, ids: IdsByValue): Matcher {
  const keyOf = (input: RowInput) => valueAt(input as StorefrontRecord, leaf);
  return {
    keyOf,
    find(input) {
      const value = keyOf(input);
      if (value === "") throw fault({ field: leaf.path, detail: "is empty, so no record can be matched by it" });
      const found = ids.get(value) ?? [];
      const some = found.slice(0, 5).join(", ") + (found.length > 5 ? ", ..." : "");
      if (found.length > 1)
        throw fault({ field: leaf.path, detail: `${found.length} records have this value: ${some}` });
      const [id] = found;
      return id === undefined ? { kind: "create", id: undefined } : { kind: "update", id };
    },
    note(input, id) {
      if (id !== undefined) addId(ids, keyOf(input), id);
    },
  };
}

function badId(detail: string): Refusal {
  return fault({ field: "ID", detail });
}

function fault(one: Fault): Refusal {
  return invalidRecord([one]);
}
