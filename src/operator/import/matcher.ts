// Matches an import's rows with records, by ID or by the value of a field.

import { findNearestPath, formatHint } from "../../lib/text.ts";
import type { Intent, Match } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type FieldError, fault, invalidRecordError, ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { idFault, isId, type StorefrontRecord, valueAt } from "../../model/record.ts";
import { findTextField, type Resource, type TextFieldPath } from "../../model/resource.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import type { RevisionRange } from "../journal/journal-entries.ts";
import { readBodies, SiteValues } from "./site-values.ts";

/** A row's fields, not validated yet. */
export type RowInput = Readonly<Record<string, unknown>>;

/** What to do with a row. */
type RowTarget =
  | { readonly operation: "create"; readonly id: number | undefined }
  | { readonly operation: "update"; readonly id: number }
  | { readonly operation: "upsert"; readonly match: Match };

/** Knows the records as of one revision, and the rows so far. */
export interface Matcher {
  /** The value that the row is matched by; undefined if rows are matched by ID. */
  matchValueOf(input: RowInput): string | undefined;
  /** @throws ProblemError `invalid-record` if the row doesn't identify a record */
  match(input: RowInput): RowTarget;
  /** Returns the number of the first row for the same record, or remembers this row as that one. Call this once per valid row. */
  firstRowOf(input: RowInput, number: number): number | undefined;
  /** Looks up the records of an upsert again. */
  matchAgain(intent: Intent): Intent;
  /** Tracks a valid row, so that later rows can match its record. @param id the record's ID, if known */
  trackRow(input: RowInput, id: number | undefined): void;
  /** Moves past what a commit of this import wrote. All its rows must have been tracked. */
  advancePast(range: RevisionRange | undefined): Promise<void>;
  /** Applies what others have changed until now. */
  catchUp(): Promise<void>;
  close(): void;
}

/** The largest ID a row can create. Leaves room above, because later records get IDs above the largest one. */
const maxNewId = 999_999_999_999_999;

/** Undefined for the ID. @throws ProblemError `bad-request` for an unknown field */
export function getMatchField(resource: Resource, field = "ID"): TextFieldPath | undefined {
  const textField = findTextField(resource, field);
  if (textField || field === "ID") return textField;
  const paths = ["ID", ...resource.textFields.map(({ path }) => path)];
  const hint = formatHint(findNearestPath(field, paths), `the fields of ${resource.plural} are ${paths.join(", ")}`);
  throw new ProblemError("bad-request", `invalid --match \`${field}\`: ${hint}`);
}

/**
 * Reads the site's records.
 * @returns a matcher for the `total` records the site has at `head`; `textField` is undefined for the ID
 * @throws ProblemError `bad-request` for an unknown field
 */
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
  const ids = new Map<number, number>();
  const head = await readBodies(engine, site, resource, () => {
    ids.clear();
    return (id) => void ids.set(id, 0);
  });
  return { head, total: ids.size, textField, matcher: createIdMatcher(ids) };
}

/** @param present the IDs of records, each with the number of the first row that has it, or 0 */
function createIdMatcher(present: Map<number, number>): Matcher {
  // The engine assigns consecutive IDs, so ranges stay small however many rows there are.
  const assigned: { from: number; to: number }[] = [];
  return {
    matchValueOf: () => undefined,
    match({ ID }) {
      if (ID === undefined) return { operation: "create", id: undefined };
      if (!isId(ID)) throw toProblemError({ field: "ID", ...idFault(ID) });
      // An earlier row without an ID got this one. This row means another record, so updating it would overwrite the earlier row.
      if (assigned.some(({ from, to }) => from <= ID && ID <= to)) throw toProblemError(idGivenError(ID));
      if (present.has(ID)) return { operation: "update", id: ID };
      if (ID > maxNewId) throw toProblemError({ field: "ID", ...fault("out-of-range", "", { min: 1, max: maxNewId }) });
      return { operation: "create", id: ID };
    },
    firstRowOf({ ID }, number) {
      if (!isId(ID)) return undefined;
      const first = present.get(ID);
      if (!first) present.set(ID, number);
      return first || undefined;
    },
    trackRow({ ID }, id) {
      if (id === undefined || ID !== undefined) return;
      const last = assigned.at(-1);
      if (last?.to === id - 1) last.to = id;
      else assigned.push({ from: id, to: id });
    },
    // A row with an ID means the same record whatever others do. If they delete or create it, the engine rejects the row.
    matchAgain: (intent) => intent,
    async advancePast() {},
    async catchUp() {},
    close() {},
  };
}

function createFieldMatcher(textField: TextFieldPath, values: SiteValues): Matcher {
  const firstRows = new ValueIndex();
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
    firstRowOf(input, number) {
      const value = matchValueOf(input);
      const [first] = firstRows.find(value, 1);
      if (first === undefined) firstRows.set(number, value);
      return first;
    },
    trackRow(input, id) {
      if (id !== undefined) values.set(id, matchValueOf(input));
    },
    advancePast: (range) => values.advancePast(range),
    catchUp: () => values.catchUp(),
    close() {
      values.close();
      firstRows.close();
    },
  };
}

/** For a row whose ID has gone to another new record since the import started. */
export function idGivenError(id: number | undefined): FieldError {
  const advice = "move rows with IDs to the top, and import again";
  return { field: "", ...fault("taken", `the ID ${id} went to another new record during the import; ${advice}`) };
}

function toProblemError(one: FieldError): ProblemError {
  return invalidRecordError([one]);
}
