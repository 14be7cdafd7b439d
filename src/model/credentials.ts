// The port to the stored secrets of operators: the links that sign in once, and the sessions of browsers.

/**
 * A secret of an operator: a link that signs in once, or the session of a browser. Only its digest is stored, in a table that backups, copies and
 * exports leave out.
 */
export interface Credential {
  /** SHA-256 in hexadecimal. */
  readonly digest: string;
  readonly kind: "link" | "session";
  /** ID of the operator. */
  readonly operator: number;
  /** Milliseconds since 1970. From this time on, the credential is not accepted. */
  readonly expiresAt: number;
}

/** The credentials in a database. They are not part of the journal. Part of `Engine`, with the same errors. */
export interface CredentialStore {
  /**
   * Stores a credential, and deletes all expired credentials. Of one operator and kind, the `maxCredentials` that expire last are kept.
   * @param now milliseconds since 1970
   */
  saveCredential(credential: Credential, now: number): Promise<void>;

  /** Returns the credential with this digest, even if it has expired; undefined if it does not exist. */
  findCredential(digest: string): Promise<Credential | undefined>;

  /** Deletes the credential with this digest and returns it; undefined if it does not exist. Of several calls, only one gets the credential. */
  consumeCredential(digest: string): Promise<Credential | undefined>;

  /** Deletes all credentials of an operator. */
  deleteCredentials(operator: number): Promise<void>;
}

/** Maximum credentials of one kind that an operator can have at the same time. */
export const maxCredentials = 20;
