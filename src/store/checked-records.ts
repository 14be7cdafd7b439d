import { openScratch } from "../lib/scratch-database.ts";
import { reasonOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";

/** A resource of a site. */
interface Kind {
  readonly site_id: number;
  readonly resource: string;
}

/** A record as it is checked. */
interface CheckedRecord extends Kind {
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
  /** The resources of the sites. A number for each of them is written and found in half of the time that its name takes. */
  readonly #kinds: Kind[] = [];
  readonly #numbers = new Map<string, number>();

  add({ id, revision, hash, ...kind }: Omit<CheckedRecord, "journal_end">): void {
    noting(() => this.#add.run(this.#numberOf(kind), id, revision, hash));
  }

  /** Notes an entry of the journal. @returns its record, if there is one */
  addEntry({
    id,
    revision,
    ...kind
  }: Omit<CheckedRecord, "hash" | "journal_end">): Pick<CheckedRecord, "revision" | "hash"> | undefined {
    return noting(() => {
      const number = this.#numberOf(kind);
      const record = this.#find.get(number, id) ?? undefined;
      if (record) this.#setEnd.run(revision, number, id);
      return record;
    });
  }

  /** The records whose last journal entry is not that of their revision. */
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

function noting<T>(access: () => T): T {
  try {
    return access();
  } catch (error) {
    const what = "what is checked cannot be noted in a temporary file (set TMPDIR for another folder)";
    throw new Refusal("unavailable", `${what}: ${reasonOf(error)}`, { cause: error });
  }
}
