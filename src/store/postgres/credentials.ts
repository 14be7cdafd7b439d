import type { CredentialStore } from "../../model/engine.ts";
import {
  type CredentialRow,
  deleteCredentials,
  putCredential,
  selectCredential,
  takeCredential,
  toCredential,
} from "../database/credentials.ts";
import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitTransaction } from "./transaction-end.ts";

/** Creates the calls that read and write credentials. @param timeout the time limit of the pool, in milliseconds */
export function createCredentialStore(pool: Pool, timeout: number): CredentialStore {
  const first = (rows: unknown[] | undefined) => toCredential(rows?.[0] as CredentialRow | undefined);
  const change = (...statements: string[]) =>
    pool.commit((connection, lease) =>
      commitTransaction(connection, lease, [sql.begin(timeout), ...statements].join("; ")),
    );
  return {
    findCredential: (digest) =>
      pool.read(async (connection) => first((await connection.script(selectCredential(digest)))[0])),
    consumeCredential: (digest) => change(takeCredential(digest)).then(([rows]) => first(rows)),
    deleteCredentials: async (operator) => void (await change(deleteCredentials(operator))),
    putCredential: async (credential, now) => void (await change(...putCredential(credential, now))),
  };
}
