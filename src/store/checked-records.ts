import { openScratch } from "../lib/scratch-database.ts";
import { reasonOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";

/** A record as it is checked. */
interface CheckedRecord {
  readonly site_id: number;
  readonly resource: string;
  readonly id: number;
  readonly revision: number;
  /** Of its text. */
  readonly hash: number;
  /** The revision of its last journal entry so far; 0 for none. */
  readonly journal_end: number;
}

/**
 * What `check` notes of each record, in a temporary file: a site may have millions. The columns take whatever a damaged database has. All methods
 * throw Refusal `unavailable` when there is no space for the file.
 */
export class CheckedRecords {
  readonly #database = openScratch(
    "create table scratch.records (site_id, resource, id, revision, hash, journal_end, primary key (site_id, resource, id)) without rowid",
  );
  readonly #add = this.#database.query<never, [number, string, number, number, number]>(
    "insert or replace into scratch.records values (?, ?, ?, ?, ?, 0)",
  );
  readonly #addEntry = this.#database.query<CheckedRecord, [number, number, string, number]>(
    "update scratch.records set journal_end = ? where site_id = ? and resource = ? and id = ? returning *",
  );
  readonly #different = this.#database.query<CheckedRecord, []>(
    "select * from scratch.records where journal_end <> revision",
  );

  add({ site_id, resource, id, revision, hash }: Omit<CheckedRecord, "journal_end">): void {
    noting(() => this.#add.run(site_id, resource, id, revision, hash));
  }

  /** Notes an entry of the journal. @returns its record, if there is one */
  addEntry({
    site_id,
    resource,
    id,
    revision,
  }: Omit<CheckedRecord, "hash" | "journal_end">): CheckedRecord | undefined {
    return noting(() => this.#addEntry.get(revision, site_id, resource, id)) ?? undefined;
  }

  /** The records whose last journal entry is not that of their revision. */
  different(): Iterable<CheckedRecord> {
    return this.#different.iterate();
  }

  close(): void {
    this.#database.close();
  }
}

function noting<T>(access: () => T): T {
  try {
    return access();
  } catch (error) {
    const what = "what is checked cannot be noted in a temporary file (set TMPDIR for another folder)";
    throw new Refusal("unavailable", `${what}: ${reasonOf(error)}`, { cause: error });
  }
}
