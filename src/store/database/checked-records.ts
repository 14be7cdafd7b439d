// The records that the consistency check (consistency-check.ts) has read so far, each with the revision of its last journal entry. They are in a temporary
// file, because a site may have millions. Its columns have no types, because a damaged database may contain any values.

import { openScratch } from "../../lib/scratch-database.ts";
import { withTemporaryFileErrors } from "../../model/errors.ts";

const withScratchErrors = withTemporaryFileErrors("the check cannot use its temporary file");

/** A resource of a site. */
interface Kind {
  readonly site_id: number;
  readonly resource: string;
}

/** A record, as the check stores it. */
interface CheckedRecord extends Kind {
  readonly id: number;
  readonly revision: number;
  /** CRC-32 of its JSON; 0 if it is deleted. */
  readonly hash: number;
  /** The revision of its last journal entry so far; 0 if none exists. */
  readonly journal_end: number;
}

/** The records, in a temporary file. All methods throw ProblemError `unavailable` if space is missing for the file. */
export class CheckedRecords {
  readonly #database = openScratch(
    "create table scratch.records (kind, id, revision, hash, journal_end, primary key (kind, id)) without rowid",
  );
  readonly #add = this.#database.query<never, [number, number, number, number]>(
    "insert or replace into scratch.records values (?, ?, ?, ?, 0)",
  );
  readonly #find = this.#database.query<Pick<CheckedRecord, "revision" | "hash">, [number, number]>(
    "select revision, hash from scratch.records where kind = ? and id = ?",
  );
  readonly #setEnd = this.#database.query<never, [number, number, number]>(
    "update scratch.records set journal_end = ? where kind = ? and id = ?",
  );
  readonly #different = this.#database.query<CheckedRecord & { readonly kind: number }, []>(
    "select * from scratch.records where journal_end <> revision",
  );
  /** The resources of the sites. The file has their indexes, because a number is written and found in half the time of a name. */
  readonly #kinds: Kind[] = [];
  readonly #numbers = new Map<string, number>();

  add({ id, revision, hash, ...kind }: Omit<CheckedRecord, "journal_end">): void {
    withScratchErrors(() => this.#add.run(this.#numberOf(kind), id, revision, hash));
  }

  /** Saves the revision of a journal entry with its record. Returns the record; undefined if none exists. */
  addEntry({
    id,
    revision,
    ...kind
  }: Omit<CheckedRecord, "hash" | "journal_end">): Pick<CheckedRecord, "revision" | "hash"> | undefined {
    return withScratchErrors(() => {
      const number = this.#numberOf(kind);
      const record = this.#find.get(number, id) ?? undefined;
      if (record) this.#setEnd.run(revision, number, id);
      return record;
    });
  }

  /** Yields the records for which the last journal entry has another revision than the record. */
  *different(): Generator<CheckedRecord> {
    for (const { kind, ...record } of this.#different.iterate()) yield { ...record, ...(this.#kinds[kind] as Kind) };
  }

  close(): void {
    this.#database.close();
  }

  #numberOf({ site_id, resource }: Kind): number {
    const name = `${site_id}/${resource}`;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.#kinds.length);
    return this.#kinds.push({ site_id, resource }) - 1;
  }
}
