// Copies the whole database to another one, even of another kind.

import type { RecordedRestriction } from "../../model/amend.ts";
import type { DumpedRow, Engine, SaveReplacedRows } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { copiedKind } from "../../store/database/restrictions.ts";
import { columnsOf, type TableName } from "../../store/database/tables.ts";
import { isEmpty } from "./backup.ts";

/** Every row is counted, then copied, then read back and compared. */
export interface CopyProgress {
  readonly step: "counting" | "copying" | "comparing";
  readonly rows: number;
  /** Undefined during the step `counting`. */
  readonly total: number | undefined;
}

/**
 * Copies a consistent snapshot of all data, and verifies the copy. Servers can keep using `from`, but what they write during the copy isn't copied.
 * @returns the number of rows
 * @throws ProblemError `conflict` if `to` isn't empty, `from` is empty, or another process writes to `to` during the copy (its writes are kept);
 * `unavailable` if the copy differs from `from`, when `to` is empty again
 */
export async function copyDatabase(
  from: Engine,
  to: Engine,
  onProgress: (progress: CopyProgress) => void = () => {},
  now = Date.now(),
): Promise<number> {
  if (!(await isEmpty(to)))
    throw new ProblemError("conflict", "the target isn't empty, so nothing was copied; use a new database");
  const total = await countRows(from, onProgress);
  if (total === 0) throw new ProblemError("conflict", "the source is empty, so nothing was copied; check --from");
  const sent = createFingerprint();
  const source: RecordedRestriction = {
    kind: copiedKind,
    name: await from.readDatabaseId(),
    field: "",
    value: "",
    at: now,
  };
  await to.replaceAllData(
    withFingerprint(withRow(from.dump(), { table: "restrictions", row: { ...source } }), sent, (rows) =>
      onProgress({ step: "copying", rows, total }),
    ),
    rejectIfReplaced,
  );
  const received = createFingerprint();
  const readBack = withFingerprint(to.dump(), received, (rows) => onProgress({ step: "comparing", rows, total }));
  for await (const _ of readBack);
  if (received.changes() > sent.changes()) throw concurrentWritesError();
  if (sent.end() !== received.end() || !received.hasRestrictionsOf(sent)) {
    await to.replaceAllData(nothing());
    throw new ProblemError("unavailable", "the copy differed from its source, so it was deleted; try again");
  }
  return sent.rows();
}

/** The target was empty, so any replaced row was written by another process or left by an interrupted `restore`. */
async function rejectIfReplaced(replaced: Parameters<SaveReplacedRows>[0]): Promise<void> {
  for await (const _ of replaced) {
    const detail =
      "another process wrote to the target during the copy, or an interrupted `restore` left data in it; that data is still there, and the next `restore` will save it to a file";
    throw new ProblemError("conflict", detail);
  }
}

/** For when another process has written to the target. The copy stays, because deleting it would delete those writes too. */
function concurrentWritesError(): ProblemError {
  const detail =
    "the copy is complete, but couldn't be verified, because another process wrote to the target at the same time; no write was lost";
  return new ProblemError("conflict", detail);
}

async function countRows(engine: Engine, onProgress: (progress: CopyProgress) => void): Promise<number> {
  let rows = 0;
  for await (const _ of engine.dump()) {
    if (++rows % 1000 === 0) onProgress({ step: "counting", rows, total: undefined });
  }
  return rows;
}

async function* withFingerprint(
  rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>,
  fingerprint: Fingerprint,
  onRows: (rows: number) => void,
): AsyncGenerator<DumpedRow> {
  for await (const row of rows) {
    fingerprint.add(row);
    if (fingerprint.rows() % 1000 === 0) onRows(fingerprint.rows());
    yield row;
  }
  onRows(fingerprint.rows());
}

async function* withRow(
  rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>,
  last: DumpedRow,
): AsyncGenerator<DumpedRow> {
  yield* rows;
  yield last;
}

async function* nothing(): AsyncGenerator<DumpedRow> {}

type Fingerprint = ReturnType<typeof createFingerprint>;

/**
 * Compares two sets of rows, in any order. Ignores epochs, which are new in a copy, and key uses, which a server using the copy changes with every read.
 * Restrictions that the target remembers are merged with the source's, so it's fine if the target has more.
 */
function createFingerprint() {
  const sums = new Map<string, { rows: number; sum: bigint }>();
  const restrictions = new Map<string, { value: unknown; at: number }>();
  let rows = 0;
  return {
    add({ table, row }: DumpedRow): void {
      if (row.kind === copiedKind) return;
      rows++;
      if (table === "key_uses") return;
      if (table === "restrictions") {
        const { kind, name, field, value = null, at } = row;
        restrictions.set(JSON.stringify([kind, name, field]), { value, at: Number(at) });
        return;
      }
      const cells = columnsOf(table as TableName).map((column) => (column === "epoch" ? null : (row[column] ?? null)));
      const entry = sums.get(table) ?? { rows: 0, sum: 0n };
      entry.rows++;
      entry.sum = BigInt.asUintN(64, entry.sum + BigInt(Bun.hash(JSON.stringify(cells))));
      sums.set(table, entry);
    },
    rows: () => rows,
    restrictions,
    hasRestrictionsOf: (sent: { readonly restrictions: typeof restrictions }) =>
      [...sent.restrictions].every(([key, { value, at }]) => {
        const found = restrictions.get(key);
        return found && (found.at > at || (found.at === at && found.value === value));
      }),
    changes: () => sums.get("journal")?.rows ?? 0,
    end: () => [...sums].map(([table, entry]) => `${table} ${entry.rows} ${entry.sum}`).join("; "),
  };
}
