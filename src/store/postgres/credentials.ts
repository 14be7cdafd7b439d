import type { CredentialStore } from "../../model/credentials.ts";
import {
  type CredentialRow,
  deleteCredentials,
  putCredential,
  selectCredential,
  takeCredential,
  toCredential,
} from "../credentials.ts";
import type { Pool } from "./pool.ts";
import { sql } from "./statements.ts";

/** @param timeout that of the pool, in milliseconds */
export function createCredentialStore(pool: Pool, timeout: number): CredentialStore {
  const first = (rows: unknown[] | undefined) => toCredential(rows?.[0] as CredentialRow | undefined);
  return {
    credential: (digest) =>
      pool.read(async (connection) => first((await connection.script(selectCredential(digest)))[0])),
    takeCredential: (digest) =>
      pool.use(async (connection) => first((await connection.script(takeCredential(digest)))[0])),
    deleteCredentials: (operator) =>
      pool.use(async (connection) => void (await connection.script(deleteCredentials(operator)))),
    putCredential: (credential, now) =>
      pool.use(async (connection) => {
        await connection.script([sql.begin(timeout), ...putCredential(credential, now), sql.end].join("; "));
      }),
  };
}
