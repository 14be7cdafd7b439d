// Merges a record that two operators have changed: finds the fields that differ, and combines the chosen values.

import type { RecordValues } from "../../admin/api/types.ts";
import { differences } from "../text/fields.ts";

export type Side = "mine" | "theirs";

/** A field with two different values: the stored one (theirs), and the typed one (mine). */
export interface DifferingField {
  readonly path: string;
  readonly theirs: string;
  readonly mine: string;
  /** The value to take unless the operator chooses: mine if I changed the field. */
  readonly suggested: Side;
}

const notFields = new Set(["id", "version"]);

/** Returns the fields that differ between `theirs` and `mine`. @param base the record before I changed it */
export function differingFields(base: RecordValues, theirs: RecordValues, mine: RecordValues): DifferingField[] {
  const changed = new Set(differences(base, mine).map(({ path }) => path));
  return differences(theirs, mine)
    .filter(({ path }) => !notFields.has(path))
    .map(({ path, before, after }) => ({
      path,
      theirs: before,
      mine: after,
      suggested: changed.has(path) ? "mine" : "theirs",
    }));
}

/** Returns my values, with the values of the others in the fields that were chosen so. */
export function mergedValues(
  mine: RecordValues,
  fields: readonly DifferingField[],
  chosen: (field: DifferingField) => Side,
): RecordValues {
  return fields.reduce(
    (values, field) => (chosen(field) === "mine" ? values : withValue(values, field.path.split("."), field.theirs)),
    mine,
  );
}

function withValue(values: RecordValues, [name = "", ...below]: readonly string[], text: string): RecordValues {
  if (below.length === 0) return { ...values, [name]: text };
  return { ...values, [name]: withValue(Object(values[name]), below, text) };
}
