// The stored state of webhooks: how far each has delivered, its secrets and its latest attempts. None of this is journaled or changes a site's
// revision. The webhooks' records (URL, site, resources) are in the system site.

import { randomBytes } from "node:crypto";

/** Identifies a webhook by its site and the ID of its record in the system site, which is unique in the database. */
export interface WebhookRef {
  readonly site: number;
  readonly webhook: number;
}

/** How far a webhook's delivery has come. All times are in milliseconds since 1970. */
export interface WebhookState extends WebhookRef {
  /** ID of the database from which it may deliver. In any other, such as a copy, it's paused until an operator resumes it. */
  readonly home: string;
  /** Position in the feed. Everything before it was delivered. */
  readonly cursor: string;
  /** The cursor's epoch. */
  readonly epoch: string;
  /** First and last revision of the page being delivered; both 0 if there's none. */
  readonly first: number;
  readonly last: number;
  /** How many times the webhook was rewound. */
  readonly rewinds: number;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** Time of the first of these failures; null after a success. */
  readonly failingSince: number | null;
  /** Earliest time for the next attempt; 0 if there's no need to wait. */
  readonly nextAt: number;
  /** The process that has the lease, or had the last one. */
  readonly holder: string | null;
  /** When the lease ends, by the database's clock. */
  readonly leaseUntil: number;
  /** How many times an operator resumed the webhook or changed its URL. */
  readonly resumes: number;
  /** The cursor after the last event delivered; null before the first. */
  readonly since: string | null;
  /** When we found that changes after the cursor are gone, so `storefront.gone` must be delivered before anything else. Otherwise null. */
  readonly goneAt: number | null;
}

/** The values to change. */
export type WebhookStateUpdate = Partial<Omit<WebhookState, keyof WebhookRef>>;

export const noFailures = { failures: 0, failingSince: null, nextAt: 0 } as const satisfies WebhookStateUpdate;

/** No page being delivered, no changes missing, no failed attempts. */
export const nothingInProgress = {
  first: 0,
  last: 0,
  goneAt: null,
  ...noFailures,
} as const satisfies WebhookStateUpdate;

/** Values that the state must still have for a change to go through. */
export interface WebhookExpectation {
  /** If given, this process must have the lease, and it must not have ended by the database's clock. */
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
  /** When deliveries stop being signed with this older secret, in milliseconds since 1970; null for the current one. */
  readonly until: number | null;
}

export interface DeliveryAttempt {
  /** Start of the attempt, in milliseconds since 1970. */
  readonly at: number;
  /** Status of the response; null if there was none. */
  readonly status: number | null;
  readonly milliseconds: number;
  /** Why it failed, in one line; null after a success. */
  readonly fault: string | null;
}

/** A stored attempt. Each webhook's attempts are numbered from 1. */
export interface KeptAttempt extends DeliveryAttempt {
  readonly number: number;
}

/** A request to a receiver, or its response, without secrets. */
export interface ExchangedMessage {
  /** The header fields in order, 8 KiB at most. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The first 8 KiB of the body or, if it isn't text, the first 512 bytes in hexadecimal. */
  readonly body: string;
  readonly isText: boolean;
  /** Length of the whole body; for a response, of what was read. */
  readonly bytes: number;
}

export interface DeliveryExchange {
  readonly url: string;
  readonly request: ExchangedMessage;
  /** Null if there was none. */
  readonly response: ExchangedMessage | null;
}

/** How many attempts are kept per webhook, and for how many of them the exchange. */
export const maxWebhookAttempts = 100;
export const maxWebhookExchanges = 20;
/** Maximum bytes kept of each message's header fields, and of its body. */
export const maxExchangedBytes = 8192;

/** Part of `Engine`, with the same errors. */
export interface WebhookStore {
  /** Reads the states of `keys` or of all webhooks, ordered by site and ID. A webhook whose record was deleted may still have one. */
  readWebhookStates(keys?: readonly WebhookRef[]): Promise<readonly WebhookState[]>;

  /**
   * Acquires or renews the lease of a webhook, for `milliseconds` by the database's clock. You can't tell when it started, so count from before the
   * call.
   * @returns the state with the lease; undefined if another process has it or the webhook has no state
   */
  acquireWebhookLease(key: WebhookRef, holder: string, milliseconds: number): Promise<WebhookState | undefined>;

  /** Atomically changes a state if it still has the `expected` values. @returns whether it did */
  compareAndSetWebhook(key: WebhookRef, expected: WebhookExpectation, update: WebhookStateUpdate): Promise<boolean>;

  /** Saves a webhook's state and secrets in place of earlier ones, and deletes its attempts. */
  saveWebhook(state: WebhookState, secrets: readonly WebhookSecret[]): Promise<void>;

  /**
   * Makes `secret` the current secret of a webhook that has a state. The previous one stays valid until `until`, and older ones are deleted, so there
   * are never more than two. Times are in milliseconds since 1970. @returns whether there is a state
   */
  rotateWebhookSecret(key: WebhookRef, secret: string, now: number, until: number): Promise<boolean>;

  /** Deletes the state, secrets and attempts of a webhook. */
  deleteWebhook(key: WebhookRef): Promise<void>;

  /** Returns the current secret first. The older one may no longer be valid. */
  readWebhookSecrets(key: WebhookRef): Promise<readonly WebhookSecret[]>;

  /** Stores an attempt if the webhook has a state. Keeps the last 100 attempts and 20 exchanges. */
  addWebhookAttempt(key: WebhookRef, attempt: DeliveryAttempt, exchange?: DeliveryExchange): Promise<void>;

  /** Returns the stored attempts, latest first. @param limit default: all of them */
  readWebhookAttempts(key: WebhookRef, limit?: number): Promise<readonly KeptAttempt[]>;

  /**
   * Returns the last attempts of each of a site's webhooks, latest first, by webhook ID. Webhooks without attempts are missing.
   * @param limit maximum number of attempts per webhook
   */
  readLatestAttempts(site: number, limit: number): Promise<ReadonlyMap<number, readonly KeptAttempt[]>>;

  /** Returns the exchange of an attempt; undefined if it isn't kept. */
  readWebhookExchange(key: WebhookRef, number: number): Promise<DeliveryExchange | undefined>;
}

/** The prefix from Standard Webhooks 1.0. */
export const secretPrefix = "whsec_";
const secretBytes = 32;

/** Creates a secret as in Standard Webhooks 1.0: `whsec_` and 32 random bytes in base64. */
export function createWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString("base64");
}

/** Whether `text` could have come from `createWebhookSecret`. */
export function isWebhookSecret(text: string): boolean {
  const bytes = Buffer.from(text.slice(secretPrefix.length), "base64");
  return bytes.length === secretBytes && text === secretPrefix + bytes.toString("base64");
}
