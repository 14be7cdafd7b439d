// SQL for credentials (model/engine.ts), shared by all engines. The only text values from outside are digests, so they are inlined instead of
// bound.

import { type Credential, maxCredentials } from "../../model/engine.ts";

/** A row of the table `credentials`. */
export interface CredentialRow {
  readonly digest: string;
  readonly kind: Credential["kind"];
  readonly operator_id: number;
  readonly expires_at: number;
}

const columns = "digest, kind, operator_id, expires_at";

/** Returns the statements of `CredentialStore.putCredential`, in order. @param now milliseconds since 1970 */
export function putCredential({ digest, kind, operator, expiresAt }: Credential, now: number): string[] {
  const same = `operator_id = ${operator} and kind = '${kind}'`;
  return [
    `delete from credentials where expires_at <= ${Math.floor(now)}`,
    `insert into credentials (${columns}) values (${quoted(digest)}, '${kind}', ${operator}, ${Math.floor(expiresAt)})`,
    `delete from credentials where ${same} and digest not in
(select digest from credentials where ${same} order by expires_at desc, digest limit ${maxCredentials})`,
  ];
}

export function selectCredential(digest: string): string {
  return `select ${columns} from credentials where digest = ${quoted(digest)}`;
}

export function takeCredential(digest: string): string {
  return `delete from credentials where digest = ${quoted(digest)} returning ${columns}`;
}

export function deleteCredentials(operator: number): string {
  return `delete from credentials where operator_id = ${Math.floor(operator)}`;
}

export function toCredential(row: CredentialRow | null | undefined): Credential | undefined {
  if (!row) return undefined;
  const { digest, kind, operator_id: operator, expires_at: expiresAt } = row;
  return { digest, kind, operator, expiresAt };
}

function quoted(digest: string): string {
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error("a digest has 64 hexadecimal digits");
  return `'${digest}'`;
}
