// Merges a record that two operators have changed: finds the fields that differ, and combines the chosen values.

import type { RecordValues } from "../../admin/api/record-types.ts";
import { differences } from "../text/fields.ts";

export type Side = "mine" | "theirs";

/** A field with two different values: the stored value (`theirs`) and the typed value (`mine`). */
export interface DifferingField {
  readonly path: string;
  readonly theirs: string;
  readonly mine: string;
  /** The value to take unless the operator chooses: the typed value if the operator has changed the field, otherwise the stored value. */
  readonly suggested: Side;
}

const notFields = new Set(["id", "version"]);

/** Returns the fields that differ between the stored values (`theirs`) and the typed values (`mine`). @param base the record as it was when the form was opened */
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

/** Returns the typed values, with the stored values in the fields for which the operator has chosen them. */
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
