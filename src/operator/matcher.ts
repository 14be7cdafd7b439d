// Which record a row of an import means.

import type { SiteContents } from "../model/engine.ts";
import { type Fault, invalidRecord, Refusal } from "../model/errors.ts";
import { isId, type StorefrontRecord, valueAt } from "../model/record.ts";
import { findLeaf, type Leaf, type Resource } from "../model/resource.ts";

/** The record to update, or the ID to make one under; undefined for the next one. */
export type Match =
  | { readonly kind: "update"; readonly id: number }
  | { readonly kind: "create"; readonly id: number | undefined };

/** What was read of a row: an object, its fields not yet believed. */
export type RowInput = Readonly<Record<string, unknown>>;

interface Matcher {
  /** What rows are matched by, where that is a field and not the ID: two rows of one value mean one record. */
  keyOf(input: RowInput): string | undefined;
  /** @throws Refusal `invalid-record` when the row cannot be matched, `conflict` when several records match */
  find(input: RowInput): Match;
  /** Tells that the row was good, and the record's ID where it is known. */
  note(input: RowInput, id: number | undefined): void;
}

/** A larger one would leave no IDs for the records that follow, since they count on from the largest. */
const maxNewId = 999_999_999_999_999;

/** The field by which records are matched; undefined for their ID. @throws Refusal `bad-request` when there is no such field */
export function findMatchField(resource: Resource, field = "ID"): Leaf | undefined {
  const leaf = findLeaf(resource, field);
  if (leaf || field === "ID") return leaf;
  const paths = resource.leaves.map(({ path }) => path).join(", ");
  throw new Refusal("bad-request", `--match: ${resource.plural} have no field "${field}"; there is ID, ${paths}`);
}

/** Matches rows with what `contents` holds. @throws Refusal `bad-request` when there is no such field */
export function openMatcher(resource: Resource, { rows }: SiteContents, field?: string): Matcher {
  const leaf = findMatchField(resource, field);
  const ours = rows.filter((row) => row.resource === resource.name && row.body !== null);
  if (!leaf) return matchById(new Set(ours.map(({ id }) => id)));
  return matchByField(
    leaf,
    ours.map(({ body }) => JSON.parse(body as string)),
  );
}

function matchById(present: Set<number>): Matcher {
  // IDs that the store gave follow each other, so their ranges take no memory that grows with the file.
  const given: { from: number; to: number }[] = [];
  const isPresent = (id: number) => present.has(id) || given.some(({ from, to }) => from <= id && id <= to);
  return {
    keyOf: () => undefined,
    find({ ID }) {
      if (ID === undefined) return { kind: "create", id: undefined };
      if (!isId(ID)) throw badId(`must be a whole number from 1, not ${JSON.stringify(ID)?.slice(0, 40)}`);
      if (isPresent(ID)) return { kind: "update", id: ID };
      if (ID > maxNewId) throw badId(`must be at most ${maxNewId}`);
      return { kind: "create", id: ID };
    },
    note({ ID }, id) {
      if (id === undefined) return;
      const last = given.at(-1);
      if (ID !== undefined) present.add(id);
      else if (last?.to === id - 1) last.to = id;
      else given.push({ from: id, to: id });
    },
  };
}

function matchByField(leaf: Leaf, records: readonly StorefrontRecord[]): Matcher {
  const ids = new Map<string, number[]>();
  const put = (value: string, id: number) => {
    const known = ids.get(value);
    if (!known) ids.set(value, [id]);
    else if (!known.includes(id)) known.push(id);
  };
  const keyOf = (input: RowInput) => valueAt(input as StorefrontRecord, leaf);
  for (const record of records) put(keyOf(record), record.ID);
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
      if (id !== undefined) put(keyOf(input), id);
    },
  };
}

function badId(detail: string): Refusal {
  return fault({ field: "ID", detail });
}

function fault(one: Fault): Refusal {
  return invalidRecord([one]);
}
