import { existsSync } from "node:fs";
import { withoutPassword } from "../lib/text.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";

export interface OpenOptions {
  /** Whether a file that cannot be written is opened read-only. */
  readonly orReadOnly?: boolean;
  /** Milliseconds that the database has for one call, unless its address has more. The default is for a server. */
  readonly timeout?: number;
  /** The clock by which leases end, in milliseconds since 1970. Database servers have their own. */
  readonly clock?: () => number;
}

/**
 * Opens the database at `url`: `sqlite:<file>` or `postgres://user@host/database`.
 * @throws Refusal `bad-request` for any other address, `unavailable` when it cannot be opened
 */
export async function openEngine(
  url: string,
  resources: readonly Resource[],
  { orReadOnly = false, timeout, clock }: OpenOptions = {},
): Promise<Engine> {
  // An engine is loaded only when it is needed, because that takes a while.
  const path = sqlitePath(url);
  if (path) {
    const { openReadableSqlite, openSqlite } = await import("./sqlite/engine.ts");
    return (orReadOnly ? openReadableSqlite : openSqlite)(path, resources, { busyTimeout: timeout, clock });
  }
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { openPostgres } = await import("./postgres/engine.ts");
    return openPostgres(url, resources, timeout);
  }
  throw new Refusal(
    "bad-request",
    `"${withoutPassword(url)}" is not a database address; write sqlite:<file> or postgres://user@host/database`,
  );
}

/** Whether the database at `url` exists. Only a file can be checked without connecting; for others, true. */
export function databaseExists(url: string): boolean {
  const path = sqlitePath(url);
  return path === undefined || existsSync(path);
}

function sqlitePath(url: string): string | undefined {
  return /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
}
