import { existsSync } from "node:fs";
import { withoutPassword } from "../lib/text.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";

export interface OpenOptions {
  /** Whether to open a file read-only if it cannot be written. */
  readonly orReadOnly?: boolean;
  /** Maximum milliseconds that a call waits for the database. A longer time in the address of PostgreSQL wins. The default is for a server. */
  readonly timeoutMs?: number;
  /** The clock that decides when leases end, in milliseconds since 1970. Only SQLite uses it; PostgreSQL uses the clock of its server. */
  readonly clock?: () => number;
}

/**
 * Opens the database at `url`: `sqlite:<file>` or `postgres://user@host/database`.
 * @throws ProblemError `bad-request` for any other address, `unavailable` if the database cannot be opened
 */
export async function openEngine(
  url: string,
  resources: readonly Resource[],
  { orReadOnly = false, timeoutMs, clock }: OpenOptions = {},
): Promise<Engine> {
  // Import only the engine that is needed, because each import takes time.
  const path = sqlitePath(url);
  if (path) {
    const { openReadableSqlite, openSqlite } = await import("./sqlite/engine.ts");
    return (orReadOnly ? openReadableSqlite : openSqlite)(path, resources, { busyTimeoutMs: timeoutMs, clock });
  }
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { openPostgres } = await import("./postgres/engine.ts");
    return openPostgres(url, resources, timeoutMs);
  }
  throw new ProblemError(
    "bad-request",
    `"${withoutPassword(url)}" is not a database address; write sqlite:<file> or postgres://user@host/database`,
  );
}

/** Whether the database at `url` exists. Only a file can be checked without a connection; for other addresses, returns true. */
export function databaseExists(url: string): boolean {
  const path = sqlitePath(url);
  return path === undefined || existsSync(path);
}

function sqlitePath(url: string): string | undefined {
  return /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
}
