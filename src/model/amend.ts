// What a refill changes in the restored system site, at the moment at which it replaces the present one.

import type { Intent, Operation } from "./change.ts";
import type { Head } from "./engine.ts";
import type { WebhookKey, WebhookSecret } from "./webhooks.ts";

/** A record of the system site, or what is known of a deleted one. */
export interface StoredSystemRecord {
  readonly resource: string;
  readonly id: number;
  /** The revision of its last change. */
  readonly revision: number;
  /** The record as JSON text; null when it was deleted. */
  readonly body: string | null;
  /** Of a deleted record: as it was deleted, when (milliseconds since 1970) and by which run; null when the journal no longer says so. */
  readonly deleted: { readonly body: string; readonly at: number; readonly run: string | null } | null;
}

/** The system site in one set of tables. */
export interface StoredSystem {
  readonly head: Head;
  readonly records: readonly StoredSystemRecord[];
  /** The secrets of all webhooks, the present one of each first. */
  readonly secrets: readonly (WebhookKey & WebhookSecret)[];
}

/** An entry about a key in the journal of the system site. */
export interface KeyChange {
  readonly revision: number;
  readonly id: number;
  readonly operation: Operation;
  readonly run: string | null;
  readonly at: number;
}

/** What to store in the restored system site, in the same transaction. */
export interface Amendment {
  readonly intents: readonly Intent[];
  /** All secrets that a webhook has from then on. Without any, its state is removed too. */
  readonly webhooks: readonly { readonly key: WebhookKey; readonly secrets: readonly WebhookSecret[] }[];
}

/** The present and the restored system site. Nobody can write to either before the restored one is in use. */
export interface Swap {
  readonly replaced: StoredSystem;
  readonly restored: StoredSystem;
  /** The changes of keys in the replaced journal, in order. */
  readonly keyChanges: readonly KeyChange[];
}

/** Decides what a refill amends. */
export interface Amend {
  /** The revision after which `Swap.keyChanges` begins. @param head of the replaced system site */
  keyChangesAfter(head: Head): number;
  decide(swap: Swap): Amendment;
}
