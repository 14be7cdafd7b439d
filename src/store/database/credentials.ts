// The database operations on credentials (CredentialStore in model/engine.ts).

import { type Credential, maxCredentials } from "../../model/credentials.ts";
import { execute, insert, query, type Row, type Transaction } from "./transaction.ts";

const columns = "digest, kind, operator_id, expires_at";

const deleteOldest = `delete from credentials where operator_id = :operator and kind = :kind and digest not in (
  select digest from credentials where operator_id = :operator and kind = :kind order by expires_at desc, digest limit ${maxCredentials}
)`;

export function* saveCredential({ digest, kind, operator, expiresAt }: Credential, now: number): Transaction<void> {
  yield* execute("delete from credentials where expires_at <= :now", { now: Math.floor(now) });
  yield* insert("credentials", [{ digest, kind, operator_id: operator, expires_at: Math.floor(expiresAt) }]);
  yield* execute(deleteOldest, { operator, kind });
}

export function* findCredential(digest: string): Transaction<Credential | undefined> {
  return toCredential(yield* query(`select ${columns} from credentials where digest = :digest`, { digest }));
}

export function* consumeCredential(digest: string): Transaction<Credential | undefined> {
  return toCredential(
    yield* execute(`delete from credentials where digest = :digest returning ${columns}`, { digest }),
  );
}

export function* deleteCredentials(operator: number): Transaction<void> {
  yield* execute("delete from credentials where operator_id = :operator", { operator });
}

function toCredential([row]: readonly Row[]): Credential | undefined {
  if (!row) return undefined;
  const { digest, kind, operator_id: operator, expires_at: expiresAt } = row;
  return { digest, kind, operator, expiresAt } as Credential;
}
