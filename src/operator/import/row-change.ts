// Converts rows to intents.

import { type Intent, operatorActor } from "../../model/change.ts";
import { ErrorBudget, invalidRecordError, noMoreHints } from "../../model/errors.ts";
import { isJsonObject } from "../../model/field.ts";
import type { Resource } from "../../model/resource.ts";
import { toReading, toUpsertValues, validateAs } from "../../store/writes/record-match.ts";
import type { NumberedRow } from "./file-rows.ts";
import type { Matcher, RowInput } from "./matcher.ts";
import { rejectionFieldErrors } from "./row-errors.ts";
import type { SpooledRow } from "./spooled-rows.ts";

/** A row whose record is matched. */
export interface PendingRow extends SpooledRow {
  /** The values of the row. */
  readonly input: RowInput;
}

/** Returns the values of a row. @throws ProblemError `invalid-record` if the row could not be decoded or is not an object */
export function parseInput({ input, fieldErrors }: NumberedRow["decoded"]): RowInput {
  if (fieldErrors.some(({ field }) => field === "")) throw invalidRecordError(fieldErrors);
  if (isJsonObject(input)) return input;
  throw invalidRecordError([{ field: "", detail: `must be a record, not ${JSON.stringify(input)?.slice(0, 40)}` }]);
}

interface RowChangesOptions {
  readonly site: number;
  readonly resource: Resource;
  /** The epoch of the system site when the rows were matched. */
  readonly systemEpoch: string;
  readonly now: () => number;
}

/** Converts the rows of one import. */
export class RowChanges {
  readonly #matcher: Matcher;
  readonly #options: RowChangesOptions;
  readonly #errors = new ErrorBudget(noMoreHints);

  constructor(matcher: Matcher, options: RowChangesOptions) {
    this.#matcher = matcher;
    this.#options = options;
  }

  /**
   * Finds the record of a row, and validates its values.
   * @param input the values of the row
   * @throws ProblemError `invalid-record`, also if the row would be rejected with the records that are known now
   */
  toPendingRow(row: NumberedRow, input: RowInput): PendingRow {
    const { site, resource, systemEpoch: ifSystemEpoch, now } = this.#options;
    const { fieldErrors } = row.decoded;
    const common = { site, resource: resource.name, actor: operatorActor, at: now(), ifSystemEpoch };
    const target = this.#matcher.match(input);
    if (target.operation !== "upsert") {
      const { operation } = target;
      const values = this.#errors.run((limits) => validateAs(operation, resource, input, fieldErrors, limits));
      const valuesJson = JSON.stringify(values);
      return { intent: { ...common, ...target, valuesJson }, row: () => row, input };
    }
    const { valuesJson, newJson } = toUpsertValues(resource, input, fieldErrors);
    const match = { ...target.match, newJson };
    const intent: Intent = { ...common, operation: "upsert", valuesJson, match };
    const reading = toReading(intent, match, match.found);
    if ("rejectionReason" in reading)
      this.#errors.run((limits) => {
        throw invalidRecordError(rejectionFieldErrors(reading, intent, resource, row, limits), limits);
      });
    return { intent, row: () => row, input };
  }
}
