// Gives one field the same value in many records for an operator: in chosen records, or in all records that a search finds. All changes are one run, so
// one undo takes them back.
//
// Up to 5,000 changes are one transaction. More are transactions of 500, so that other writers never wait long. If such a write is interrupted, the same
// write again does the rest, because records that have the value already are not written.

import { chunksOf, yieldBetween } from "../../lib/yielding.ts";
import { type Intent, operatorActor } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type FieldError, invalidRecordError, ProblemError } from "../../model/errors.ts";
import { epochToKeep, type Head } from "../../model/head.ts";
import { parseRecordChanges, type Values, valueAt } from "../../model/record.ts";
import type { Resource, TextFieldPath } from "../../model/resource.ts";
import { toTextSource } from "../../store/memory/order.ts";
import type { SiteViews } from "../../store/reads/site-views.ts";
import { epochChangedError } from "../journal/journal-entries.ts";
import { nameFieldOf, selectRecords } from "./read-records.ts";
import { type ChangedRecords, commitTogether } from "./several-records.ts";

/** A value for a field of many records. */
export interface FieldSetting {
  readonly field: TextFieldPath;
  readonly value: string;
  /** The IDs of the records. If undefined, `search` selects the records. */
  readonly ids: readonly number[] | undefined;
  /** As in a list: the empty text finds all records. */
  readonly search: string;
}

/** The records that a setting would change now. */
export interface FieldPlan {
  /** The IDs of the records that do not have the value yet. */
  readonly ids: readonly number[];
  /** The number of records that have it already. */
  readonly unchanged: number;
  /** The number of chosen records that do not exist any more. */
  readonly missing: number;
  /** The names of the first records that change. */
  readonly names: readonly string[];
  /** Why the value is not allowed. */
  readonly faults: readonly FieldError[];
  /** Names the records that change, and the texts they lose. Two plans with the same digest change the same records in the same way. */
  readonly digest: string;
}

/** Maximum records of a setting. */
export const maxSetRecords = 50_000;
/** Maximum changes that are one transaction, and changes per transaction of a larger setting. */
const maxInOneTransaction = 5000;
const changesPerTransaction = 500;
/** Number of chosen records of a block from which the texts of the whole block are cached. */
const minCachedTexts = 16;
/** Maximum names in a plan. */
const maxNames = 5;
/** Hexadecimal digits of a digest. */
const digestLength = 32;

/**
 * Returns what `setting` would change now. Loads the site into memory if necessary, and yields to the event loop in between.
 * @param isWanted whether the client still waits
 * @throws ProblemError `bad-request` if the search finds more than 50,000 records; `unavailable`
 */
export async function planField(
  siteViews: SiteViews,
  site: number,
  resource: Resource,
  { field, value, ids, search }: FieldSetting,
  isWanted: () => boolean,
): Promise<FieldPlan> {
  const query = { search: ids ? "" : search, sort: { textField: undefined, descending: false } };
  const { version, ids: found } = await selectRecords(siteViews, site, resource, query, isWanted);
  const wanted = new Set(ids ?? found);
  const source = toTextSource(field);
  if (!ids && found.length > maxSetRecords) throw tooManyError(resource, found.length);
  const [changed, names]: [number[], string[]] = [[], []];
  const hash = new Bun.CryptoHasher("sha256").update(JSON.stringify([resource.name, field.path, value]));
  let unchanged = 0;
  for await (const block of yieldBetween(version.blocks)) {
    const indexes = [...block.ids.keys()].filter((index) => wanted.has(block.ids[index] as number));
    // The texts of a whole block are cached, because a plan is often made again with another value.
    const texts = indexes.length >= minCachedTexts ? block.columns([source])[0] : undefined;
    for (const index of indexes) {
      const text = texts ? texts[index] : block.texts(index, [source])[0];
      if (text === value) {
        unchanged++;
        continue;
      }
      changed.push(block.ids[index] as number);
      hash.update(`\n${block.ids[index]}${JSON.stringify(text)}`);
      if (names.length < maxNames) names.push(valueAt(JSON.parse(block.json(index)), nameFieldOf(resource)));
    }
  }
  const missing = wanted.size - changed.length - unchanged;
  const faults = findFaults(resource, field, value);
  return { ids: changed, unchanged, missing, names, faults, digest: hash.digest("hex").slice(0, digestLength) };
}

function tooManyError({ plural }: Resource, count: number): ProblemError {
  const [most, found] = [maxSetRecords, count].map((number) => number.toLocaleString("en-GB"));
  return new ProblemError("bad-request", `the search finds ${found} ${plural}, and at most ${most} can be set at once`);
}

function findFaults(resource: Resource, field: TextFieldPath, value: string): readonly FieldError[] {
  try {
    parseRecordChanges(resource, toValues(field, value));
    return [];
  } catch (error) {
    if (error instanceof ProblemError && error.code === "invalid-record") return error.fieldErrors;
    throw error;
  }
}

/** Returns values that have only this field. */
function toValues({ keys }: TextFieldPath, value: string): Values {
  return keys.reduceRight<string | Values>((inner, key) => ({ [key]: inner }), value) as Values;
}

/** When and with which engine a plan is stored. */
interface StoreOptions {
  /** The head of the site from before the plan was made. */
  readonly head: Head;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * Stores a plan. A record that was deleted meanwhile is left out.
 * @throws ProblemError `invalid-record` if the value is not allowed, and nothing was stored; `conflict` if the site was restored, renewed or removed;
 *   the errors of the engine. The message says how many records were changed before
 */
export async function storeField(
  engine: Engine,
  site: number,
  resource: Resource,
  { field, value }: Pick<FieldSetting, "field" | "value">,
  plan: FieldPlan,
  { head, at }: StoreOptions,
): Promise<ChangedRecords> {
  if (plan.faults.length > 0) throw invalidRecordError(plan.faults);
  const valuesJson = JSON.stringify(toValues(field, value));
  const base = { site, resource: resource.name, operation: "update", valuesJson, actor: operatorActor, at } as const;
  const common: Intent = { ...base, ifEpoch: epochToKeep(head), isOptional: true };
  const size = plan.ids.length > maxInOneTransaction ? changesPerTransaction : maxInOneTransaction;
  let sum: ChangedRecords = { changed: 0, unchanged: plan.unchanged, revisions: undefined };
  for await (const ids of yieldBetween(chunksOf(plan.ids, size))) {
    const intents = ids.map((id) => ({ ...common, id }));
    const progress = sum.changed === 0 ? undefined : `${sum.changed} of ${plan.ids.length} records were changed before`;
    const result = await commitTogether(engine, head, intents).catch((error) => {
      throw withProgress(error, progress);
    });
    // An optional intent is rejected only for its epoch.
    if ("rejected" in result) throw epochChangedError(progress);
    sum = toSum(sum, result);
  }
  return sum;
}

function toSum(sum: ChangedRecords, { changed, unchanged, revisions }: ChangedRecords): ChangedRecords {
  const first = sum.revisions ?? revisions;
  return {
    changed: sum.changed + changed,
    unchanged: sum.unchanged + unchanged,
    revisions: first && { first: first.first, last: (revisions ?? first).last },
  };
}

/** Adds to the error of a transaction what the transactions before it have stored. */
function withProgress(error: unknown, progress: string | undefined): unknown {
  if (progress === undefined || !(error instanceof ProblemError)) return error;
  const { code, retryAfterSeconds } = error;
  const options = { cause: error, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  return new ProblemError(code, `${error.message}; ${progress}; the same again does the rest`, options);
}
