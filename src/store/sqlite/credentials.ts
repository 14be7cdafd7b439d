import type { Database } from "bun:sqlite";
import type { Credential, CredentialStore } from "../../model/engine.ts";
import {
  type CredentialRow,
  deleteCredentials,
  putCredential,
  takeCredential,
  toCredential,
} from "../database/credentials.ts";

/** A message to the writer thread: a call that writes credentials. */
export type CredentialWrite =
  | { readonly kind: "put"; readonly credential: Credential; readonly now: number }
  | { readonly kind: "take"; readonly digest: string }
  | { readonly kind: "delete"; readonly operator: number };

/** Creates the calls that write credentials. @param send sends a call to the writer thread, and returns the result of `writeCredential` there */
export function createCredentialWrites(
  send: (write: CredentialWrite) => Promise<string>,
): Omit<CredentialStore, "findCredential"> {
  return {
    putCredential: async (credential, now) => void (await send({ kind: "put", credential, now })),
    consumeCredential: async (digest) => JSON.parse(await send({ kind: "take", digest })) ?? undefined,
    deleteCredentials: async (operator) => void (await send({ kind: "delete", operator })),
  };
}

/** Executes a call in the writer thread, in a transaction that the caller has begun. Returns the consumed credential as JSON, otherwise `null`. */
export function writeCredential(database: Database, write: CredentialWrite): string {
  if (write.kind === "take") {
    const taken = database.query<CredentialRow, []>(takeCredential(write.digest)).get();
    return JSON.stringify(toCredential(taken) ?? null);
  }
  const texts = write.kind === "put" ? putCredential(write.credential, write.now) : [deleteCredentials(write.operator)];
  for (const text of texts) database.run(text);
  return "null";
}
