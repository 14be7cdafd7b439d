// Reads a database that cannot be written: on a read-only disk, or without permission.

import { constants, Database } from "bun:sqlite";
import { realpathSync, statSync } from "node:fs";
import type { Engine } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";
import { CommitWatches, checkDataVersion } from "./commit-poller.ts";
import { requireVersion } from "./database.ts";
import { logSize } from "./files.ts";
import { createReader } from "./reads.ts";

const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;

/** A database opened for reading, and the condition for the validity of its data. */
interface Access {
  open(): Database;
  /** @throws Refusal `unavailable` if the data must not be used */
  guard(): void;
}

/** Whether `error`, from opening a database, means that something cannot be written. */
export function isWriteProtected(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } };
  return /^(SQLITE_(READONLY|CANTOPEN|PERM)|EROFS$|EACCES$|EPERM$)/.test(String(cause?.code));
}

/**
 * Opens the database at `path` for reading only.
 * @throws Refusal `unavailable` when its newest changes cannot be read, or SQLite's own error
 */
export function openReadOnly(path: string): Engine {
  const { open, guard } = accessTo(path);
  const database = open();
  try {
    requireVersion(database);
    const watches = new CommitWatches(() => checkDataVersion(database));
    return {
      ...createReader(database, open, guard),
      ...refusedWrites(path),
      watchCommits: (onCommit) => watches.start(onCommit),
      // They cannot be dropped here.
      undroppedSites: () => [],
      close: async () => {
        watches.close();
        database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

const writes = [
  "openForRequests",
  "commit",
  "commitTogether",
  "tryWrite",
  "prune",
  "deleteExpiredResponses",
  "noteKeyUse",
  "noteBackup",
  "noteCounts",
  "claimWebhook",
  "updateWebhook",
  "putWebhook",
  "addWebhookSecret",
  "removeWebhook",
  "addWebhookAttempt",
  "putCredential",
  "takeCredential",
  "deleteCredentials",
  "dropSite",
  "fillSite",
  "renew",
  "refill",
] as const satisfies readonly (keyof Engine)[];

type RefusedWrites = Pick<Engine, (typeof writes)[number]>;

/** The calls that write, each of which is refused. */
function refusedWrites(path: string): RefusedWrites {
  const refuse = async () => {
    throw unavailable(`the database ${path} is read-only here`);
  };
  return Object.fromEntries(writes.map((name) => [name, refuse])) as unknown as RefusedWrites;
}

/** Opens it with its log if SQLite can read that; otherwise without. */
function accessTo(path: string): Access {
  const file = realpathSync(path);
  const address = `file:${encodeURI(file).replaceAll("?", "%3F").replaceAll("#", "%23")}`;
  const opener = (parameters: string) => () =>
    new Database(`${address}?${parameters}`, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  const withLog = opener("mode=ro");
  if (canRead(withLog)) return { open: withLog, guard: () => {} };
  return { open: opener("immutable=1"), guard: guardAlone(file) };
}

function canRead(open: () => Database): boolean {
  const database = open();
  try {
    database.query("select 1 from sqlite_master").get();
    return true;
  } catch {
    return false;
  } finally {
    database.close();
  }
}

/**
 * Opens it as immutable: SQLite then uses neither the log nor locks. That is correct while there is no log and the file does
 * not change (https://sqlite.org/wal.html, "Read-Only Databases").
 */
function guardAlone(file: string): () => void {
  if (logSize(file) > 0) {
    throw unavailable(
      `the database ${file} cannot be read where nothing can be written: its newest changes are only in ${file}-wal; copy both files into a folder of your own and read them there`,
    );
  }
  const before = stateOf(file);
  return () => {
    if (stateOf(file) !== before) throw unavailable(`the database ${file} was written to while it was read; try again`);
  };
}

/** A value that changes when a process writes, or begins to. */
function stateOf(file: string): string {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs, logSize(file)].join(" ");
}

function unavailable(detail: string): Refusal {
  return new Refusal("unavailable", detail, { retryAfter: 1 });
}
