import type { Change, Operation } from "./change.ts";
import { merge, type Values } from "./record.ts";

/** What a client wants done to one record, checked as far as it can be without knowing what is stored. */
export interface Intent {
  readonly site: number;
  readonly resource: string;
  /**
   * `create` gives the next ID, or `id` where one is named that was never used (import).
   * `restore` puts `text` back under `id`, whether the record is there or was deleted.
   */
  readonly operation: Operation;
  readonly id?: number | undefined;
  /** JSON text: of all values (create), of those to change (update), of the whole record (restore). */
  readonly text: string;
  /** The write is refused unless the record is at one of these versions. */
  readonly ifVersion?: readonly string[] | undefined;
  /** The write is refused when the record is at one of these versions, or at all where one of them is `*`. */
  readonly ifNotVersion?: readonly string[] | undefined;
  /**
   * The write is refused unless the site is still where the writer saw it (`headVersion`), so that what was checked
   * against all of its records still holds. In a batch that stands together, the first intent says it for all.
   */
  readonly ifHead?: string | undefined;
  /** The write is refused when the site's history is another one than the writer saw: it was restored or removed. */
  readonly ifEpoch?: string | undefined;
  readonly actor: string;
  /** Milliseconds since 1970 (UTC). */
  readonly at: number;
  readonly idempotency?: Idempotency | undefined;
}

/** What makes a repeated request safe: who named it how, and a digest of what was asked. */
export interface Idempotency {
  /** ID of the API key. */
  readonly keyId: number;
  /** The client's `Idempotency-Key`. */
  readonly name: string;
  readonly digest: string;
}

/** The record after an intent, as its response tells it. */
export interface Aftermath {
  readonly operation: Operation;
  readonly id: number;
  readonly version: string;
  /** The record as JSON text; for a delete, the record that was deleted. */
  readonly body: string;
}

/** What became of an intent. */
export type Outcome =
  | (Aftermath & { readonly kind: "done"; readonly change: Change })
  | (Aftermath & { readonly kind: "unchanged" | "replayed" })
  | Refused;

export interface Refused {
  readonly kind: "refused";
  readonly why: "not-found" | "precondition-failed" | "idempotency-key-reused" | "id-used" | "other-history";
}

/** What tells a record's state from every other state it had: the site's epoch and the revision of its last change. */
export function versionOf(epoch: string, revision: number): string {
  return `${epoch}.${revision}`;
}

/** The same for a whole site, by its head; a site that was never written to has no epoch yet. */
export function headVersion({ epoch, revision }: { epoch: string; revision: number }): string {
  return revision === 0 ? "" : versionOf(epoch, revision);
}

/** The epoch in what `versionOf` returned. */
export function epochOf(version: string): string {
  return version.slice(0, version.lastIndexOf("."));
}

/** A record as the store holds it. A deleted one keeps its row without a body, so that its ID is never used again. */
export interface StoredRow {
  readonly revision: number;
  readonly body: string | null;
}

/** What `decide` found: a refusal, nothing to write, or the next change of the site. */
type Decision =
  | Refused
  | { readonly kind: "unchanged"; readonly id: number; readonly revision: number; readonly body: string }
  | { readonly kind: "change"; readonly id: number; readonly body: string };

/**
 * Decides one intent. Every engine asks this inside its transaction, so that all of them mean the same.
 * @param row the record's row as it is in this transaction; undefined when its ID was never used
 * @param nextId the ID that a new record of this site and resource would get
 * @param epoch the site's epoch
 */
export function decide(intent: Intent, row: StoredRow | undefined, nextId: number, epoch: string): Decision {
  const { operation, id } = intent;
  if (operation === "create") {
    if (row) return { kind: "refused", why: "id-used" };
    const newId = id ?? nextId;
    return { kind: "change", id: newId, body: withId(newId, intent.text) };
  }
  if (id === undefined) throw new Error(`${operation} without an ID`);
  if (operation === "restore") return restored(id, intent.text, row);
  if (!row || row.body === null) return { kind: "refused", why: "not-found" };
  if (!meetsConditions(intent, versionOf(epoch, row.revision))) return { kind: "refused", why: "precondition-failed" };
  if (operation === "delete") return { kind: "change", id, body: row.body };
  const record = JSON.parse(row.body) as object;
  const merged = merge(record, JSON.parse(intent.text) as Values);
  if (merged === record) return { kind: "unchanged", id, revision: row.revision, body: row.body };
  return { kind: "change", id, body: JSON.stringify(merged) };
}

function meetsConditions({ ifVersion, ifNotVersion }: Intent, version: string): boolean {
  if (ifVersion && !ifVersion.includes(version)) return false;
  return !ifNotVersion?.some((ruledOut) => ruledOut === "*" || ruledOut === version);
}

function restored(id: number, body: string, row: StoredRow | undefined): Decision {
  if (!row) return { kind: "refused", why: "not-found" };
  if (row.body === body) return { kind: "unchanged", id, revision: row.revision, body };
  return { kind: "change", id, body };
}

/** The body of a record from its ID and the text of its values: `{"Name":"Acme"}` with the ID in front. */
export function withId(id: number, text: string): string {
  return text === "{}" ? `{"ID":${id}}` : `{"ID":${id},${text.slice(1)}`;
}
