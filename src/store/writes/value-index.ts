import type { Database } from "bun:sqlite";
import { openScratch } from "../../lib/scratch-database.ts";
import { withTemporaryFileErrors } from "../../model/errors.ts";

const withScratchErrors = withTemporaryFileErrors("can't keep the records' values in a temporary file");

/** Finds records by the value of a field. Uses a temporary file, so memory doesn't grow with the number of records. */
export class ValueIndex {
  readonly #database: Database;
  readonly #statements: ReturnType<typeof statements>;

  /** @throws ProblemError `unavailable`, like all methods, if there's no space for the temporary file */
  constructor() {
    this.#database = withScratchErrors(() => openScratch(tables));
    this.#statements = statements(this.#database);
  }

  /** Replaces the record's earlier value. */
  set(id: number, value: string): void {
    withScratchErrors(() => this.#statements.set.run(id, value));
  }

  delete(id: number): void {
    withScratchErrors(() => this.#statements.delete.run(id));
  }

  clear(): void {
    withScratchErrors(() => this.#statements.clear.run());
  }

  /** Returns up to `limit` IDs in ascending order. */
  find(value: string, limit: number): number[] {
    return withScratchErrors(() => this.#statements.find.all(value, limit).map(({ id }) => id));
  }

  count(value: string): number {
    return withScratchErrors(() => this.#statements.count.get(value)?.count ?? 0);
  }

  close(): void {
    this.#database.close();
  }
}

const tables = `create table scratch.found (id integer primary key, value text not null) strict;
create index scratch.by_value on found (value)`;

function statements(database: Database) {
  return {
    set: database.query<never, [number, string]>("insert or replace into scratch.found (id, value) values (?, ?)"),
    delete: database.query<never, [number]>("delete from scratch.found where id = ?"),
    clear: database.query<never, []>("delete from scratch.found"),
    find: database.query<{ id: number }, [string, number]>(
      "select id from scratch.found where value = ? order by id limit ?",
    ),
    count: database.query<{ count: number }, [string]>("select count(*) as count from scratch.found where value = ?"),
  };
}
