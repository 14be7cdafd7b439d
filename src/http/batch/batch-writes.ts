// Makes an intent of each operation in a batch.
//
// With `match=AccountNumber`, the operation PUT brands {"AccountNumber":"A-1","Address":{"Town":"Oslo"}} becomes an upsert, and DELETE brands
// {"AccountNumber":"A-1"} a delete with a match. One pass over the snapshot finds the records for all match values (`findByTexts`). The transaction brings
// that up to date, and decides whether each upsert updates or creates.

import { createYielder } from "../../lib/yielding.ts";
import { type Intent, versionOf } from "../../model/change.ts";
import { toKeyText } from "../../model/record-key.ts";
import type { Resource } from "../../model/resource.ts";
import type { SiteView } from "../../store/reads/site-views.ts";
import { toUpsertValues } from "../../store/writes/record-match.ts";
import { type FoundByText, findByTexts, type WantedTexts } from "../../store/writes/snapshot-finder.ts";
import type { AuthorizedIntent } from "../authorization/authorized-intent.ts";
import type { CheckedOperation, CheckedWrite, MatchedWrite, NamedWrite, SentFields } from "./check-operations.ts";

export interface OperationWrite {
  /** The operation's index in its request. */
  readonly index: number;
  readonly checked: CheckedWrite;
  readonly intent: Intent;
}

/** A record that a dry run would change, with its current revision. For one it would create, that's the planned ID and revision 0. */
export interface TouchedRecord {
  readonly resource: string;
  readonly id: number;
  readonly revision: number;
}

/** What all intents of a request share. */
type IntentBase = AuthorizedIntent & Pick<Intent, "isOptional">;

/**
 * Makes the writes of all operations except faulty ones. Yields to the event loop in between.
 * @param isWanted whether the client is still waiting
 * @throws the errors of `findByTexts`
 */
export async function makeWrites(
  checked: readonly CheckedOperation[],
  base: IntentBase,
  siteView: SiteView,
  isWanted: () => boolean,
): Promise<readonly OperationWrite[]> {
  const wanted = wantedTexts(checked);
  const found = wanted.length === 0 ? undefined : await findByTexts(siteView, wanted, isWanted);
  const writes: OperationWrite[] = [];
  const yieldIfDue = createYielder();
  for (const [index, one] of checked.entries()) {
    await yieldIfDue();
    if (one.kind === "faulty") continue;
    const change = one.kind === "named" ? toNamed(one) : toMatched(one, found as FoundByText);
    writes.push({ index, checked: one, intent: { ...base, ...change } });
  }
  return writes;
}

function wantedTexts(checked: readonly CheckedOperation[]): readonly WantedTexts[] {
  const wanted = new Map<Resource, WantedTexts & { readonly texts: Set<string> }>();
  for (const one of checked) {
    if (one.kind !== "matched") continue;
    const { resource, field: textField, value } = one;
    const ofResource = wanted.get(resource) ?? { resource, textField, texts: new Set<string>() };
    ofResource.texts.add(value);
    wanted.set(resource, ofResource);
  }
  return [...wanted.values()];
}

function toNamed({ resource, operation, id, valuesJson, ifVersion }: NamedWrite) {
  return { resource: resource.name, operation, id, valuesJson, ifVersion };
}

function toMatched(checked: MatchedWrite, { revision, epoch, find }: FoundByText) {
  const { operation, resource, field, value, record, canonical, ifMatch, ifVersion } = checked;
  const match = { keys: field.keys, value, revision, found: find(resource, value) };
  const common = { resource: resource.name, ifVersion, ifEpoch: epoch === "" ? undefined : epoch };
  if (operation === "delete") return { ...common, operation, valuesJson: "{}", match } as const;
  const fields = record.input as SentFields;
  const { valuesJson, newJson } = toUpsertValues(resource, fields, record.fieldErrors, canonical?.valuesJson);
  // `If-Match` needs a record.
  const orNew = { ...match, newJson: ifMatch === undefined ? newJson : "" };
  return { ...common, operation: "upsert", valuesJson, match: orNew } as const;
}

/**
 * Adds conditions so that the writes can only store what the dry run showed: new records must get the planned IDs, and existing ones must still have the
 * revisions the dry run saw.
 * @param touched one per write, in order
 */
export function conditionOn(
  writes: readonly OperationWrite[],
  touched: readonly TouchedRecord[],
  epoch: string,
): readonly OperationWrite[] {
  const seen = new Set<string>();
  return writes.map((write, index) => {
    const { resource, id, revision } = touched[index] as TouchedRecord;
    const name = toKeyText({ resource, id });
    const isFirst = !seen.has(name);
    seen.add(name);
    // No record has one of no versions, so this rejects an upsert if a record has appeared since. A create ignores it.
    const ifVersion = revision > 0 ? [versionOf(epoch, revision)] : [];
    return { ...write, intent: { ...write.intent, id, ...(isFirst ? { ifVersion } : {}) } };
  });
}
