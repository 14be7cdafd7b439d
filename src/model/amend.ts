// Changes that `Engine.replaceAllData` makes in the restored system site when it replaces the present one. A restore uses them so that keys that were
// revoked after the backup stay revoked (operator/backup/restrictions.ts).

import type { Intent, Operation } from "./change.ts";
import type { Head } from "./head.ts";
import type { WebhookRef, WebhookSecret } from "./webhooks.ts";

/** A record of the system site, also a deleted one. */
export interface StoredSystemRecord {
  readonly resource: string;
  readonly id: number;
  /** The revision of its last change. */
  readonly revision: number;
  /** The record as JSON text; null if it was deleted. */
  readonly body: string | null;
  /**
   * The journal entry of the delete: the deleted record, the time in milliseconds since 1970, and the run. Null if the record exists, or if the entry
   * was pruned.
   */
  readonly deleted: { readonly body: string; readonly at: number; readonly run: string | null } | null;
}

/** The system site in one set of tables. */
export interface StoredSystem {
  readonly head: Head;
  readonly records: readonly StoredSystemRecord[];
  /** The secrets of all webhooks. The present secret of each webhook comes before its older secret. */
  readonly secrets: readonly (WebhookRef & WebhookSecret)[];
}

/** A journal entry of the system site about an API key. */
export interface KeyChange {
  readonly revision: number;
  readonly id: number;
  readonly operation: Operation;
  readonly run: string | null;
  readonly at: number;
}

/** Changes to store in the restored system site, in the transaction that replaces the present one. */
export interface Amendment {
  readonly intents: readonly Intent[];
  /** All secrets that each of these webhooks has after the change. If it has none, its state is deleted too. */
  readonly webhooks: readonly { readonly key: WebhookRef; readonly secrets: readonly WebhookSecret[] }[];
}

/** The present and the restored system site. No process can write to either until the restored one is in use. */
export interface Swap {
  readonly replaced: StoredSystem;
  readonly restored: StoredSystem;
  /** The changes of keys in the journal of the replaced system site, in order. They begin after the revision that `Amend.keyChangesAfter` returns. */
  readonly keyChanges: readonly KeyChange[];
}

/** Decides the changes. */
export interface Amend {
  /** Returns the revision after which `Swap.keyChanges` begins. @param head of the replaced system site */
  keyChangesAfter(head: Head): number;
  decide(swap: Swap): Amendment;
}
