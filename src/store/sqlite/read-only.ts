// Reading where nothing can be written: on a read-only disk, or without the permission.

import { constants, Database } from "bun:sqlite";
import { realpathSync, statSync } from "node:fs";
import type { Engine } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";
import { requireVersion } from "./database.ts";
import { createReader } from "./reader.ts";

const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;

/** How a database is opened for reading, and what must hold for what was read. */
interface Access {
  open(): Database;
  /** @throws Refusal `unavailable` when it must not be relied on */
  guard(): void;
}

/** Whether `error`, from opening a database, says that something cannot be written. */
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
    const refuse = async () => {
      throw unavailable(`the database ${path} is read-only here`);
    };
    return {
      ...createReader(database, open, guard),
      openForWriting: refuse,
      commit: refuse,
      tryWrite: refuse,
      deleteExpiredResponses: refuse,
      noteKeyUse: refuse,
      dropSite: refuse,
      // They cannot be dropped here.
      undroppedSites: () => [],
      refill: refuse,
      close: async () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** With its log where SQLite can read that, as a server does that writes at the same time; otherwise without. */
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
 * SQLite reads a database without its log, and without locks, when it is told that nobody writes. That is right as long as
 * there is no log and the file stays the same (https://sqlite.org/wal.html, "Read-Only Databases").
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

/** What differs when somebody has written, or has begun to. */
function stateOf(file: string): string {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs, logSize(file)].join(" ");
}

function logSize(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

function unavailable(detail: string): Refusal {
  return new Refusal("unavailable", detail, { retryAfter: 1 });
}
