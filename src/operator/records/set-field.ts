// Sets a field to the same value in many records, either chosen ones or all that a search finds. It's one run, so one undo reverts it all.
//
// Up to 5,000 changes are a single transaction. More are split into transactions of 500, so that other writers never wait long. If that's interrupted,
// repeating the write does the rest, because it skips records that already have the value.

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

export interface FieldSetting {
  readonly field: TextFieldPath;
  readonly value: string;
  /** The chosen records. If undefined, `search` selects them. */
  readonly ids: readonly number[] | undefined;
  /** As in a list: an empty search finds all records. */
  readonly search: string;
}

/** What a setting would change now. */
export interface FieldPlan {
  /** Records that don't have the value yet. */
  readonly ids: readonly number[];
  /** How many already have it. */
  readonly unchanged: number;
  /** How many of the chosen records no longer exist. */
  readonly missing: number;
  /** Names of the first records that would change. */
  readonly names: readonly string[];
  /** Why the value isn't allowed. */
  readonly faults: readonly FieldError[];
  /** Covers the changed records and their old values, so two plans with the same digest change the same records in the same way. */
  readonly digest: string;
}

export const maxSetRecords = 50_000;
/** Up to this many changes are one transaction. More are split into transactions of `changesPerTransaction`. */
const maxInOneTransaction = 5000;
const changesPerTransaction = 500;
/** If this many records of a block are chosen, we cache the whole block's texts. */
const minCachedTexts = 16;
/** In a plan. */
const maxNames = 5;
/** In hexadecimal digits. */
const digestLength = 32;

/**
 * Loads the site into memory if necessary, and yields to the event loop in between.
 * @param isWanted whether the client is still waiting
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
    // Cached, because the next plan is often for the same field with another value.
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
  return new ProblemError(
    "bad-request",
    `the search finds ${found} ${plural}, and only ${most} can be set at a time; narrow it down`,
  );
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

function toValues({ keys }: TextFieldPath, value: string): Values {
  return keys.reduceRight<string | Values>((inner, key) => ({ [key]: inner }), value) as Values;
}

interface StoreOptions {
  /** The site's head before the plan was made. */
  readonly head: Head;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * Skips records that have been deleted since the plan was made.
 * @throws ProblemError `invalid-record` if the value isn't allowed; `conflict` if the site was restored, renewed or removed; the errors of the engine.
 *   The message says how many records had been changed by then
 */
export async function storeField(
  engine: Engine,
  site: number,
  resource: Resource,
  { field, value }: Pick<FieldSetting, "field" | "value">,
  plan: FieldPlan,
  { head, at }: StoreOptions,
): Promise<FieldResult> {
  if (plan.faults.length > 0) throw invalidRecordError(plan.faults);
  const valuesJson = JSON.stringify(toValues(field, value));
  const base = { site, resource: resource.name, operation: "update", valuesJson, actor: operatorActor, at } as const;
  const common: Intent = { ...base, ifEpoch: epochToKeep(head), isOptional: true };
  const size = plan.ids.length > maxInOneTransaction ? changesPerTransaction : maxInOneTransaction;
  let sum: FieldResult = { changed: 0, unchanged: plan.unchanged, revisions: undefined };
  for await (const ids of yieldBetween(chunksOf(plan.ids, size))) {
    const intents = ids.map((id) => ({ ...common, id }));
    const progress =
      sum.changed === 0 ? undefined : `by then, ${sum.changed} of ${plan.ids.length} records had been changed`;
    const result = await commitTogether(engine, head, intents).catch((error) => {
      throw withProgress(error, progress);
    });
    // Optional intents are only rejected for their epoch.
    if ("rejected" in result) throw epochChangedError(progress);
    sum = toSum(sum, result);
  }
  return sum;
}

type FieldResult = Omit<ChangedRecords, "versions">;

function toSum(sum: FieldResult, { changed, unchanged, revisions }: FieldResult): FieldResult {
  const first = sum.revisions ?? revisions;
  return {
    changed: sum.changed + changed,
    unchanged: sum.unchanged + unchanged,
    revisions: first && { first: first.first, last: (revisions ?? first).last },
  };
}

/** Adds what earlier transactions have stored to the error of a failed one. */
function withProgress(error: unknown, progress: string | undefined): unknown {
  if (progress === undefined || !(error instanceof ProblemError)) return error;
  const { code, retryAfterSeconds } = error;
  const options = { cause: error, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  return new ProblemError(code, `${error.message}; ${progress}; repeat it to do the rest`, options);
}
