// A record that two people have changed: what differs, and the record with the values that were chosen.

import { differences, type RecordValues } from "../history/history.ts";

export type Side = "mine" | "theirs";

/** A field with two values. */
export interface DifferingField {
  readonly path: string;
  readonly theirs: string;
  readonly mine: string;
  /** Whose value to take unless the operator chooses: mine if I changed it. */
  readonly suggested: Side;
}

const notFields = new Set(["id", "version"]);

/** @param base the record as it was when I began to change it */
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

/** My values, with theirs in the fields for which they were chosen. */
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
