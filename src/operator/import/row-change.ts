// Converts rows to intents.

import { type Intent, operatorActor } from "../../model/change.ts";
import { invalidRecordError } from "../../model/errors.ts";
import { isJsonObject } from "../../model/field.ts";
import type { Resource } from "../../model/resource.ts";
import type { PendingWrite } from "../../store/writes/matched-writes.ts";
import { type Match, rematchIntent, toMatchedChange } from "../../store/writes/record-match.ts";
import type { NumberedRow } from "./file-rows.ts";
import type { Matcher, RowInput } from "./matcher.ts";
import type { SpooledRow } from "./spooled-rows.ts";

/** A row whose record is matched. */
export interface PendingRow extends PendingWrite, SpooledRow {
  /** The values of the row; undefined if no later row can match it. */
  readonly input: RowInput | undefined;
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

  constructor(matcher: Matcher, options: RowChangesOptions) {
    this.#matcher = matcher;
    this.#options = options;
  }

  /** Matches a row with its record. @param input the values of the row @throws ProblemError `invalid-record` */
  toPendingRow(row: NumberedRow, input: RowInput): PendingRow {
    const { site, systemEpoch: ifSystemEpoch, now } = this.#options;
    const change = this.#toChange(this.#matcher.match(input), row);
    const intent = { ...change, site, actor: operatorActor, at: now(), ifSystemEpoch };
    return { ...this.withRematch({ intent, row: () => row }), input };
  }

  /** Adds how the row is rematched. */
  withRematch({ intent, row }: SpooledRow): PendingRow {
    const { finder } = this.#matcher;
    const rematch = finder && ((one: Intent) => rematchIntent(finder, one, (match) => this.#toChange(match, row())));
    return { intent, row, rematch, input: undefined };
  }

  #toChange(match: Match, { decoded }: NumberedRow) {
    return toMatchedChange(this.#options.resource, match, parseInput(decoded), decoded.fieldErrors);
  }
}
