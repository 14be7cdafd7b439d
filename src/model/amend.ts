// What a restore changes in the restored system site before it goes live, so that revoked access stays revoked (operator/backup/restrictions.ts), and
// the recorded restrictions that decision is based on (store/database/restrictions.ts).

import type { Intent } from "./change.ts";
import type { WebhookRef, WebhookSecret } from "./webhooks.ts";

/** The latest decision about one limit: a row of the table `restrictions`. */
export interface RecordedRestriction {
  readonly kind: string;
  readonly name: string;
  readonly field: string;
  /** What the limit was set to. */
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface StoredSystemRecord {
  readonly resource: string;
  /** The record as JSON. */
  readonly body: string;
}

/** The system site in one set of tables. */
export interface StoredSystem {
  readonly records: readonly StoredSystemRecord[];
  /** The secrets of all webhooks; each webhook's current secret comes before its older one. */
  readonly secrets: readonly (WebhookRef & WebhookSecret)[];
}

/** A restored system site, about to go live. No process can write to it at this point. */
export interface Swap {
  readonly restored: StoredSystem;
  readonly replaced: StoredSystem;
  /** The restrictions recorded in the backup. */
  readonly backedUp: readonly RecordedRestriction[];
  /** The restrictions recorded in either the backup or the replaced database; where both have one for a limit, the later decision. */
  readonly restrictions: readonly RecordedRestriction[];
}

/** Changes to the restored system site, stored in the transaction that puts it live. */
export interface Amendment {
  /** These aren't recorded as restrictions: they only apply what's already recorded. */
  readonly intents: readonly Intent[];
  /** The secrets each of these webhooks keeps. A webhook with none loses its state too. */
  readonly webhooks: readonly { readonly key: WebhookRef; readonly secrets: readonly WebhookSecret[] }[];
  /** These replace `Swap.restrictions`. */
  readonly restrictions: readonly RecordedRestriction[];
}

export type Amend = (swap: Swap) => Amendment;
