// The port to the stored state of webhooks: how far each has delivered, its secrets and its latest delivery attempts. This state is not part of a
// journal, and does not change the revision of a site. The records of webhooks (URL, site, resources) are in the system site.

import { randomBytes } from "node:crypto";

/** Identifies a webhook: the site whose changes it delivers, and the ID of its record in the system site, which is unique in the database. */
export interface WebhookRef {
  readonly site: number;
  readonly webhook: number;
}

/** The state of delivery of a webhook. All times are in milliseconds since 1970. */
export interface WebhookState extends WebhookRef {
  /** The ID of the database in which the webhook may deliver. In any other database, such as a copy, it is paused until an operator resumes it. */
  readonly home: string;
  /** Cursor in the feed. All changes before it were delivered. */
  readonly cursor: string;
  /** The epoch of the cursor. */
  readonly epoch: string;
  /** The first and last revision of the page that is being delivered; both are 0 if no page is being delivered. */
  readonly first: number;
  readonly last: number;
  /** The number of times that the webhook was rewound. */
  readonly rewinds: number;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** The time of the first of these failed attempts; null after a success. */
  readonly failingSince: number | null;
  /** The earliest time of the next attempt; 0 if it need not wait. */
  readonly nextAt: number;
  /** The process that has the lease, or had the last one. */
  readonly holder: string | null;
  /** The time at which the lease ends, on the clock of the database. */
  readonly leaseUntil: number;
  /** The number of times that an operator resumed the webhook, or changed its URL. */
  readonly resumes: number;
  /** The cursor after the last event that was delivered; null before the first event. */
  readonly since: string | null;
  /** When the server found that changes after the cursor are gone: `storefront.gone` must be delivered before anything else. Otherwise null. */
  readonly goneAt: number | null;
}

/** The values of a state to change. All other values stay. */
export type WebhookStateUpdate = Partial<Omit<WebhookState, keyof WebhookRef>>;

/** The values of a state without failed attempts since the last success. */
export const noFailures = { failures: 0, failingSince: null, nextAt: 0 } as const satisfies WebhookStateUpdate;

/** The values of a state with nothing in progress: no page is being delivered, no change is missing, and no attempt has failed. */
export const nothingInProgress = {
  first: 0,
  last: 0,
  goneAt: null,
  ...noFailures,
} as const satisfies WebhookStateUpdate;

/** The values that a state must still have when it is changed. */
export interface WebhookExpectation {
  /** If given, this holder must have the lease, and the lease must not have ended on the clock of the database. */
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
  /** The time until which deliveries are also signed with an older secret, in milliseconds since 1970; null for the present secret. */
  readonly until: number | null;
}

export interface DeliveryAttempt {
  /** The time at which the attempt started, in milliseconds since 1970. */
  readonly at: number;
  /** The status of the response; null if there was none. */
  readonly status: number | null;
  readonly milliseconds: number;
  /** The reason of a failure, in one line; null after a success. */
  readonly fault: string | null;
}

/** An attempt that is kept. The attempts of a webhook are numbered from 1. */
export interface KeptAttempt extends DeliveryAttempt {
  readonly number: number;
}

/** A request to a receiver, or its response, without secrets. */
export interface ExchangedMessage {
  /** Names and values, in order; at most 8 KiB. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The first 8 KiB of the body; if it is not text, its first 512 bytes as hexadecimal digits. */
  readonly body: string;
  readonly isText: boolean;
  /** The length of the whole body in bytes, of a response as far as it was read. */
  readonly bytes: number;
}

/** The request of an attempt, and its response. */
export interface DeliveryExchange {
  readonly url: string;
  readonly request: ExchangedMessage;
  /** Null if there was none. */
  readonly response: ExchangedMessage | null;
}

/** Maximum attempts that are kept for each webhook, and maximum attempts of which the exchange is kept. */
export const maxWebhookAttempts = 100;
export const maxWebhookExchanges = 20;
/** Maximum bytes that an exchange has of the header fields, and of the body, of each message. */
export const maxExchangedBytes = 8192;

/** Part of `Engine`, with the same errors. */
export interface WebhookStore {
  /** Reads the states of all webhooks, or of `keys`, in the order of site and ID. After its record was deleted, a webhook may still have a state. */
  readWebhookStates(keys?: readonly WebhookRef[]): Promise<readonly WebhookState[]>;

  /**
   * Acquires or renews the lease of a webhook. The lease lasts `milliseconds`, on the clock of the database. The caller does not know when the lease
   * started, and so must count from a time before the call.
   * @returns the state with the lease; undefined if another process has the lease, or if the webhook has no state
   */
  acquireWebhookLease(key: WebhookRef, holder: string, milliseconds: number): Promise<WebhookState | undefined>;

  /** Changes a state atomically, if it still has the values in `expected`. @returns whether it was changed */
  compareAndSetWebhook(key: WebhookRef, expected: WebhookExpectation, update: WebhookStateUpdate): Promise<boolean>;

  /** Saves the state and secrets of a webhook. Replaces its earlier state and secrets, and deletes its attempts. */
  saveWebhook(state: WebhookState, secrets: readonly WebhookSecret[]): Promise<void>;

  /**
   * Makes `secret` the present secret of a webhook that has a state. The previous secret stays valid until `until`; older secrets are deleted, so
   * that there are at most two. Times are in milliseconds since 1970. @returns whether there is a state
   */
  rotateWebhookSecret(key: WebhookRef, secret: string, now: number, until: number): Promise<boolean>;

  /** Deletes the state, the secrets and the attempts of a webhook. */
  deleteWebhook(key: WebhookRef): Promise<void>;

  /** Reads the secrets of a webhook, the present secret first. The older secret may have ended. */
  readWebhookSecrets(key: WebhookRef): Promise<readonly WebhookSecret[]>;

  /** Stores an attempt of a webhook that has a state, and deletes all but the last 100, and all but the last 20 exchanges. */
  addWebhookAttempt(key: WebhookRef, attempt: DeliveryAttempt, exchange?: DeliveryExchange): Promise<void>;

  /** Reads the attempts that are kept, the latest first. @param limit maximum number of attempts; by default, all */
  readWebhookAttempts(key: WebhookRef, limit?: number): Promise<readonly KeptAttempt[]>;

  /**
   * Reads the last attempts of each webhook of a site, the latest first, by the ID of the webhook. A webhook without attempts is missing.
   * @param site ID
   * @param limit maximum number of attempts of a webhook
   */
  readLatestAttempts(site: number, limit: number): Promise<ReadonlyMap<number, readonly KeptAttempt[]>>;

  /** Reads the exchange of an attempt; undefined if it is not kept. */
  readWebhookExchange(key: WebhookRef, number: number): Promise<DeliveryExchange | undefined>;
}

/** The prefix of a secret (Standard Webhooks 1.0). */
export const secretPrefix = "whsec_";
const secretBytes = 32;

/** Creates a secret in the form of Standard Webhooks 1.0: `whsec_` and 32 random bytes in base64. */
export function createWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString("base64");
}

/** Whether `text` is a secret in exactly the form of `createWebhookSecret`. */
export function isWebhookSecret(text: string): boolean {
  const bytes = Buffer.from(text.slice(secretPrefix.length), "base64");
  return bytes.length === secretBytes && text === secretPrefix + bytes.toString("base64");
}
