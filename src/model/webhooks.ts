// The port to what is stored of webhooks beside their records: where each one is, its secrets and its latest attempts. None of it is in a
// journal or moves the revision of a site.

import { randomBytes } from "node:crypto";
import type { MaybePromise } from "../lib/maybe-promise.ts";

/** Names a webhook: the ID of its record in the system site, which no other webhook of the database has, and the site that it follows. */
export interface WebhookKey {
  readonly site: number;
  readonly webhook: number;
}

/** Where a webhook is. All times are in milliseconds since 1970. */
export interface WebhookState extends WebhookKey {
  /** The identity of the database in which it may deliver. A webhook that arrived from another database is paused until it is resumed. */
  readonly home: string;
  /** Cursor of the feed: what came before was delivered. */
  readonly cursor: string;
  /** The epoch of the history that the cursor belongs to. */
  readonly epoch: string;
  /** The first and last revision of the page that is being delivered; both 0 when there is none. */
  readonly first: number;
  readonly last: number;
  /** How often it was rewound. */
  readonly rewinds: number;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** When the first of these attempts failed; null after a success. */
  readonly failingSince: number | null;
  /** No attempt before this moment; 0 for none. */
  readonly nextAt: number;
  /** 1 when `storefront.gone` must be delivered before anything else. */
  readonly isGone: 0 | 1;
  /** The process that delivers it, or did last. */
  readonly holder: string | null;
  /** When the holder's lease ends, on the clock of the database. */
  readonly leaseUntil: number;
  /** How often an operator resumed it. */
  readonly resumes: number;
  /** The cursor after the event that was delivered last; null before the first, and where an older program delivered it. */
  readonly since: string | null;
  /** When it was found that changes are gone, while `isGone` is 1; otherwise null, and where an older program found it. */
  readonly goneAt: number | null;
}

/** Values of a state to change; others stay. */
export type WebhookChanges = Partial<Omit<WebhookState, keyof WebhookKey>>;

/** What must still be stored for a change to be made. */
export interface ExpectedWebhook {
  /** If given, this process must have the lease, and the lease must not have ended on the clock of the database. */
  readonly holder?: string;
  readonly cursor: string;
  readonly rewinds: number;
  readonly resumes: number;
}

export interface WebhookSecret {
  /** `whsec_` and 32 bytes in base64. */
  readonly secret: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Until when deliveries are signed with it too, in milliseconds since 1970; null for the present secret. */
  readonly until: number | null;
}

export interface WebhookAttempt {
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
  /** The status of the response; null if there was none. */
  readonly status: number | null;
  readonly milliseconds: number;
  /** What went wrong, in one line; null after a success. */
  readonly fault: string | null;
}

/** Attempts that are kept of each webhook. */
export const maxWebhookAttempts = 100;

/** Part of `Engine`, with the same errors. */
export interface WebhookStore {
  /** The states of all webhooks, or of these, in the order of site and ID. A webhook whose record was deleted may have one still. */
  webhookStates(keys?: readonly WebhookKey[]): MaybePromise<readonly WebhookState[]>;

  /**
   * Takes the lease of a webhook, or renews it, for so many milliseconds from now on the clock of the database. Before the call, note the
   * time: the lease lasts at least so long from then.
   * @returns the state with the lease; undefined when another process has the lease, or there is no state
   */
  claimWebhook(key: WebhookKey, holder: string, milliseconds: number): Promise<WebhookState | undefined>;

  /** Changes a state if it is still as expected, in one step. @returns whether it was */
  updateWebhook(key: WebhookKey, expected: ExpectedWebhook, changes: WebhookChanges): Promise<boolean>;

  /** Stores the state and secrets of a webhook in place of all that was stored of it, its attempts included. */
  putWebhook(state: WebhookState, secrets: readonly WebhookSecret[]): Promise<void>;

  /**
   * Makes `secret` the present one of a webhook that has a state. The one before is valid until `until`, and those before it no longer, so
   * that there are two at most. Times are in milliseconds since 1970. @returns whether there is a state
   */
  addWebhookSecret(key: WebhookKey, secret: string, now: number, until: number): Promise<boolean>;

  /** Removes state, secrets and attempts. */
  removeWebhook(key: WebhookKey): Promise<void>;

  /** The secrets of a webhook, the present one first; those that ended may be among them. */
  webhookSecrets(key: WebhookKey): MaybePromise<readonly WebhookSecret[]>;

  /** Stores an attempt of a webhook that has a state, and keeps the last 100. */
  addWebhookAttempt(key: WebhookKey, attempt: WebhookAttempt): Promise<void>;

  /** The attempts that are kept, the latest first. */
  webhookAttempts(key: WebhookKey): MaybePromise<readonly WebhookAttempt[]>;

  /** Identifies this database. It is random, and in no dump: what is restored or copied elsewhere gets another identity. */
  databaseIdentity(): MaybePromise<string>;
}

const mark = "whsec_";
const length = 32;

/** A new secret, as Standard Webhooks 1.0 has them: `whsec_` and 32 random bytes in base64. */
export function makeWebhookSecret(): string {
  return mark + randomBytes(length).toString("base64");
}

/** Whether `text` is a secret in exactly this form. */
export function isWebhookSecret(text: string): boolean {
  const bytes = Buffer.from(text.slice(mark.length), "base64");
  return bytes.length === length && text === mark + bytes.toString("base64");
}
