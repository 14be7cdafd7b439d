import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { withoutPassword } from "../lib/text.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";

export interface OpenOptions {
  /** Whether to open a file read-only if it can't be written. */
  readonly orReadOnly?: boolean;
  /** How long a call waits for the database. A longer time in a PostgreSQL address takes precedence. The default suits a server. */
  readonly timeoutMs?: number;
  /** Decides when leases end, in milliseconds since 1970. Only for SQLite; PostgreSQL uses its server's clock. */
  readonly clock?: () => number;
}

/**
 * Opens the database at `url`: `sqlite:<file>` or `postgres://user@host/database`.
 * @throws ProblemError `bad-request` for any other address, `unavailable` if the database can't be opened
 */
export async function openEngine(
  url: string,
  resources: readonly Resource[],
  { orReadOnly = false, timeoutMs, clock }: OpenOptions = {},
): Promise<Engine> {
  // Each import takes time, so only import the engine we need.
  const path = sqlitePath(url);
  if (path) {
    const { openReadableSqlite, openSqlite } = await import("./sqlite/engine.ts");
    return (orReadOnly ? openReadableSqlite : openSqlite)(path, resources, { busyTimeoutMs: timeoutMs, clock });
  }
  if (/^postgres(ql)?:\/\//i.test(url)) {
    const { openPostgres } = await import("./postgres/engine.ts");
    return openPostgres(url, resources, timeoutMs);
  }
  const [, remedy] = mistakes.find(([pattern]) => pattern.test(url)) ?? [];
  throw new ProblemError(
    "bad-request",
    `"${withoutPassword(url)}" is not a database address; ${remedy ?? "write sqlite:<file> or postgres://user@host/database"}`,
  );
}

/** Addresses as other programs write them, and what to do about them. */
const mistakes: readonly [RegExp, string][] = [
  [/.postgres(ql)?:\/\//i, "start with `postgres`, without quotes or anything else before it"],
  [/^["']|["']$/, "remove the quotes"],
  [/^postgres(ql)?\+\w+:/i, "start it with postgres://"],
  [/\b(host|server|dbname|database|data source) *=/i, "write postgres://user:password@host:5432/database"],
  [/sqlite|^file:|\.db$/i, "write sqlite: and then the path of the file, as in sqlite:/srv/storefront.db"],
];

/**
 * Whether the database exists. Only files can be checked without a connection, so this is true for any other address.
 * @throws ProblemError `bad-request` if an SQLite address isn't a path
 */
export function databaseExists(url: string): boolean {
  const path = sqlitePath(url);
  return path === undefined || existsSync(path);
}

/** Returns the path in an SQLite address; undefined for other addresses. @throws ProblemError `bad-request` if it isn't a path */
function sqlitePath(url: string): string | undefined {
  const path = /^sqlite:(?:\/\/(?=\/))?(.*)$/is.exec(url)?.[1];
  if (path === undefined) return undefined;
  const [, remedy] = notPaths.find(([pattern]) => pattern.test(path)) ?? [];
  if (remedy) throw new ProblemError("bad-request", `${url} isn't the address of a file: ${remedy}`);
  return path.replace(/^~(?=\/)/, homedir());
}

/** What other programs accept in an SQLite address, and what to do about it. For us, each of these would be the name of a new file. */
const notPaths: readonly [RegExp, string][] = [
  [/^["']|["']$/, "remove the quotes"],
  [
    /:memory:/i,
    "the database has to be a file. For a trial, use one in a temporary folder, such as sqlite:/tmp/trial.db",
  ],
  [/^file:/i, "remove `file:`"],
  [
    /\?/,
    "remove the `?` and what follows, because there are no parameters. (Commands that only read work on read-only files anyway)",
  ],
  [/\\|^\/?[a-z]:\//i, "separate folders with `/`, without a drive, as in sqlite:/srv/storefront.db"],
  [/^~(?!\/)/, "write the whole path, or `~/` for your own folder"],
  [/\$[\w{(]/, "variables aren't expanded here, so write the actual path"],
  [/%[0-9a-f]{2}/i, "write each character as it is, without `%` escapes"],
  [/^\/\/[^/]/, "write sqlite:/srv/storefront.db, or sqlite:storefront.db for a file in the current folder"],
  [/^$|\/$/, "add a file name, as in sqlite:./data/storefront.db"],
];
