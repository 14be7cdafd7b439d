import type { MaybePromise } from "../lib/maybe-promise.ts";

/**
 * A secret that an operator has: a link that signs in once, or the session of a browser. Only its digest is stored, in a table that is in no
 * backup, copy or export.
 */
export interface Credential {
  /** SHA-256 in hexadecimal. */
  readonly digest: string;
  readonly kind: "link" | "session";
  /** ID of the operator. */
  readonly operator: number;
  /** Milliseconds since 1970. From then on, it is as if there were none. */
  readonly expiresAt: number;
}

/** What an engine stores of credentials, outside the journal. Part of `Engine`, with the same errors. */
export interface CredentialStore {
  /**
   * Stores a credential, and deletes those that have expired. Of one operator and kind, the latest `maxCredentials` stay.
   * @param now milliseconds since 1970
   */
  putCredential(credential: Credential, now: number): Promise<void>;

  /** The credential with this digest, also one that has expired; undefined if there is none. */
  credential(digest: string): MaybePromise<Credential | undefined>;

  /** Deletes the credential with this digest and returns it: of several calls, one gets it. */
  takeCredential(digest: string): Promise<Credential | undefined>;

  /** Deletes all credentials of an operator. */
  deleteCredentials(operator: number): Promise<void>;
}

/** Credentials of one kind that an operator may have at the same time. */
export const maxCredentials = 20;
