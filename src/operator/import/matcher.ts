// Matches the rows of an import with records: by ID, or by the value of a field.

import { findNearestPath, formatHint } from "../../lib/text.ts";
import type { Intent, Match } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type FieldError, fault, invalidRecordError, ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { idFault, isId, type StorefrontRecord, valueAt } from "../../model/record.ts";
import { findTextField, type Resource, type TextFieldPath } from "../../model/resource.ts";
import type { RevisionRange } from "../journal/journal-entries.ts";
import { readBodies, SiteValues } from "./site-values.ts";

/** A row as an object with fields that are not validated yet. */
export type RowInput = Readonly<Record<string, unknown>>;

/** The record of a row: found by its ID, or by a value. */
type RowTarget =
  | { readonly operation: "create"; readonly id: number | undefined }
  | { readonly operation: "update"; readonly id: number }
  | { readonly operation: "upsert"; readonly match: Match };

/** Finds the record of each row. It knows the records as of one revision, and the rows before. */
export interface Matcher {
  /** Returns the value by which the row is matched; undefined if rows are matched by ID. */
  matchValueOf(input: RowInput): string | undefined;
  /** @throws ProblemError `invalid-record` if the row says no record */
  match(input: RowInput): RowTarget;
  /** Looks up the records of an upsert again. */
  matchAgain(intent: Intent): Intent;
  /** Tracks a valid row, so that later rows can match its record. @param id the ID of the record, if it is known */
  trackRow(input: RowInput, id: number | undefined): void;
  /** Moves past the journal entries of one commit of this import. All of its rows must have been tracked. */
  advancePast(range: RevisionRange | undefined): Promise<void>;
  /** Applies all changes of others until now. */
  catchUp(): Promise<void>;
  close(): void;
}

/** The largest ID that a row may create, because the IDs of later records follow the largest ID. */
const maxNewId = 999_999_999_999_999;

/** Returns the field named `field`; undefined for the ID. @throws ProblemError `bad-request` for an unknown field */
export function getMatchField(resource: Resource, field = "ID"): TextFieldPath | undefined {
  const textField = findTextField(resource, field);
  if (textField || field === "ID") return textField;
  const paths = ["ID", ...resource.textFields.map(({ path }) => path)];
  const hint = formatHint(findNearestPath(field, paths), `the fields of ${resource.plural} are ${paths.join(", ")}`);
  throw new ProblemError("bad-request", `invalid --match \`${field}\`: ${hint}`);
}

/** Creates a matcher from the records that a site has at `head`. `total` is their number. `textField` is undefined for the ID. @throws ProblemError `bad-request` for an unknown field */
export async function readMatcher(
  engine: Engine,
  site: number,
  resource: Resource,
  field?: string,
): Promise<{
  readonly head: Head;
  readonly total: number;
  readonly textField: TextFieldPath | undefined;
  readonly matcher: Matcher;
}> {
  const textField = getMatchField(resource, field);
  if (textField) {
    const values = await SiteValues.read(engine, site, resource, textField);
    const { head, total } = values;
    return { head, total, textField, matcher: createFieldMatcher(textField, values) };
  }
  const ids = new Set<number>();
  const head = await readBodies(engine, site, resource, () => {
    ids.clear();
    return (id) => void ids.add(id);
  });
  return { head, total: ids.size, textField, matcher: createIdMatcher(ids) };
}

function createIdMatcher(present: Set<number>): Matcher {
  // The engine assigns consecutive IDs, so ranges of IDs take the same memory for any number of rows.
  const assigned: { from: number; to: number }[] = [];
  return {
    matchValueOf: () => undefined,
    match({ ID }) {
      if (ID === undefined) return { operation: "create", id: undefined };
      if (!isId(ID)) throw toProblemError({ field: "ID", ...idFault(ID) });
      // An earlier row without an ID was given this ID; this row means another record. Updating the record would lose the earlier row.
      if (assigned.some(({ from, to }) => from <= ID && ID <= to)) throw toProblemError(idGivenError(ID));
      if (present.has(ID)) return { operation: "update", id: ID };
      if (ID > maxNewId) throw toProblemError({ field: "ID", ...fault("out-of-range", "", { min: 1, max: maxNewId }) });
      return { operation: "create", id: ID };
    },
    trackRow({ ID }, id) {
      if (id === undefined) return;
      const last = assigned.at(-1);
      if (ID !== undefined) present.add(id);
      else if (last?.to === id - 1) last.to = id;
      else assigned.push({ from: id, to: id });
    },
    // A row with an ID means the same record, whatever others change. If they have deleted or created it, the engine rejects the row.
    matchAgain: (intent) => intent,
    async advancePast() {},
    async catchUp() {},
    close() {},
  };
}

function createFieldMatcher(textField: TextFieldPath, values: SiteValues): Matcher {
  const matchValueOf = (input: RowInput) => valueAt(input as StorefrontRecord, textField);
  const { keys, path } = textField;
  const lookUp = (value: string): Match => ({ keys, value, revision: values.head.revision, found: values.find(value) });
  return {
    matchValueOf,
    match(input) {
      const value = matchValueOf(input);
      if (value === "") throw toProblemError({ field: path, ...fault("required", " to find the record by it") });
      return { operation: "upsert", match: lookUp(value) };
    },
    matchAgain: (intent) =>
      intent.match ? { ...intent, match: { ...intent.match, ...lookUp(intent.match.value) } } : intent,
    trackRow(input, id) {
      if (id !== undefined) values.set(id, matchValueOf(input));
    },
    advancePast: (range) => values.advancePast(range),
    catchUp: () => values.catchUp(),
    close: () => values.close(),
  };
}

/** Creates the error for a row with an ID that the engine has given to a new record since the import began. */
export function idGivenError(id: number | undefined): FieldError {
  const causeAndAdvice = "by others or for an earlier row without an ID; put rows with IDs first, and import again";
  return {
    field: "",
    ...fault("taken", `the ID ${id} was given to a new record during the import, ${causeAndAdvice}`),
  };
}

function toProblemError(one: FieldError): ProblemError {
  return invalidRecordError([one]);
}
