// What a restore changes in the restored system site before it's put in use, so that what was revoked stays revoked
// (operator/backup/restrictions.ts), and the recorded restrictions from which that is decided (store/database/restrictions.ts).

import type { Intent } from "./change.ts";
import type { WebhookRef, WebhookSecret } from "./webhooks.ts";

/** What was last decided about one limit: a row of the table `restrictions`. */
export interface RecordedRestriction {
  readonly kind: string;
  readonly name: string;
  readonly field: string;
  /** What the limit was set to. */
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A record of the system site. */
export interface StoredSystemRecord {
  readonly resource: string;
  /** As JSON text. */
  readonly body: string;
}

/** The system site in one set of tables. */
export interface StoredSystem {
  readonly records: readonly StoredSystemRecord[];
  /** The secrets of all webhooks. The present secret of each webhook comes before its older secret. */
  readonly secrets: readonly (WebhookRef & WebhookSecret)[];
}

/** A restored system site, while no process can write to it. */
export interface Swap {
  readonly restored: StoredSystem;
  readonly replaced: StoredSystem;
  /** What the backup has recorded. */
  readonly backedUp: readonly RecordedRestriction[];
  /** What the replaced database or the backup has recorded: of each limit, what was decided later. */
  readonly restrictions: readonly RecordedRestriction[];
}

/** Changes to store in the restored system site, in the transaction that puts it in use. */
export interface Amendment {
  /** These aren't recorded as restrictions, because they only apply what is recorded. */
  readonly intents: readonly Intent[];
  /** All secrets that each of these webhooks has after the change. If it has none, its state is deleted too. */
  readonly webhooks: readonly { readonly key: WebhookRef; readonly secrets: readonly WebhookSecret[] }[];
  /** These replace `Swap.restrictions`. */
  readonly restrictions: readonly RecordedRestriction[];
}

export type Amend = (swap: Swap) => Amendment;
