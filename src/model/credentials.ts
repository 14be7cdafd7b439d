/**
 * A secret that gives an operator access: a browser session, or something that starts one, once. Only its digest is stored, in a table that backups,
 * copies and exports leave out. Earlier versions of the program don't accept kinds they don't know.
 */
export interface Credential {
  /** SHA-256 in hexadecimal. */
  readonly digest: string;
  readonly kind: "link" | "break-glass" | "session";
  readonly operator: number;
  /** Milliseconds since 1970. The credential is no longer accepted from then on. */
  readonly expiresAt: number;
}

/** The credentials in a database, which aren't journaled. Part of `Engine`, with the same errors. */
export interface CredentialStore {
  /**
   * Stores a credential and deletes all expired ones. Per operator and kind, only the `maxCredentials` that expire last are kept.
   * @param now milliseconds since 1970
   */
  saveCredential(credential: Credential, now: number): Promise<void>;

  /** Returns the credential even if it has expired. */
  findCredential(digest: string): Promise<Credential | undefined>;

  /** Deletes the credential and returns it; undefined if there's none. If calls compete, only one of them gets it. */
  consumeCredential(digest: string): Promise<Credential | undefined>;

  deleteCredentials(operator: number): Promise<void>;
}

/** Maximum credentials of each kind per operator. */
export const maxCredentials = 20;
