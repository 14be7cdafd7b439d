import type { DumpedRow, Engine, SaveReplaced } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { columnsOf, type TableName } from "../store/tables.ts";
import { isEmpty } from "./backup.ts";

/** How far a copy is: every row is counted, written and read back. */
export interface CopyProgress {
  readonly step: "counting" | "copying" | "comparing";
  readonly rows: number;
  /** Undefined while they are counted. */
  readonly total: number | undefined;
}

/**
 * Copies everything that `from` holds as of one moment into `to`, and makes sure that `to` then holds the same. Returns
 * the number of rows. Servers may run on `from`; what they write meanwhile is not copied.
 * @throws Refusal `conflict` when `to` is not empty or `from` is, or others write to `to` meanwhile, which loses nothing;
 * `unavailable` when they differ at the end: then `to` is empty again
 */
export async function copyDatabase(
  from: Engine,
  to: Engine,
  onProgress: (progress: CopyProgress) => void = () => {},
): Promise<number> {
  if (!(await isEmpty(to))) throw new Refusal("conflict", "the target is not empty; nothing was copied");
  const total = await countRows(from, onProgress);
  if (total === 0) throw new Refusal("conflict", "there is nothing to copy; is the source the right one?");
  const sent = createFingerprint();
  await to.refill(
    countRowsOf(from.dump(), sent, (rows) => onProgress({ step: "copying", rows, total })),
    refuseReplaced,
  );
  const received = createFingerprint();
  const readBack = countRowsOf(to.dump(), received, (rows) => onProgress({ step: "comparing", rows, total }));
  for await (const _ of readBack);
  if (received.changes() > sent.changes()) throw writtenTo();
  if (sent.end() !== received.end()) {
    await to.refill(nothing());
    throw new Refusal("unavailable", "the copy was not the same as its source and was taken back; try again");
  }
  return sent.rows();
}

/** Nothing is replaced where `to` was empty until the end. */
async function refuseReplaced(replaced: Parameters<SaveReplaced>[0]): Promise<void> {
  for await (const _ of replaced) {
    const detail =
      "others wrote to the target before the copy was in place, or an interrupted `restore` left something in it: it is still there, and the next `restore` keeps it in a file";
    throw new Refusal("conflict", detail);
  }
}

/** To take the copy back would take that back too. */
function writtenTo(): Refusal {
  const detail =
    "the target holds the copy, but was written to meanwhile, so that the two cannot be compared; nothing that was written is lost";
  return new Refusal("conflict", detail);
}

async function countRows(engine: Engine, onProgress: (progress: CopyProgress) => void): Promise<number> {
  let rows = 0;
  for await (const _ of engine.dump()) {
    if (++rows % 1000 === 0) onProgress({ step: "counting", rows, total: undefined });
  }
  return rows;
}

async function* countRowsOf(
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

async function* nothing(): AsyncGenerator<DumpedRow> {}

type Fingerprint = ReturnType<typeof createFingerprint>;

/**
 * What a set of rows amounts to, in whatever order they come. A copy has epochs of its own, so they do not count; nor does
 * when a key was last used, which a server on the copy notes as soon as somebody reads.
 */
function createFingerprint() {
  const sums = new Map<string, { rows: number; sum: bigint }>();
  let rows = 0;
  return {
    add({ table, row }: DumpedRow): void {
      rows++;
      if (table === "key_uses") return;
      const cells = columnsOf(table as TableName).map((column) => (column === "epoch" ? null : (row[column] ?? null)));
      const entry = sums.get(table) ?? { rows: 0, sum: 0n };
      entry.rows++;
      entry.sum = BigInt.asUintN(64, entry.sum + BigInt(Bun.hash(JSON.stringify(cells))));
      sums.set(table, entry);
    },
    rows: () => rows,
    changes: () => sums.get("journal")?.rows ?? 0,
    end: () => [...sums].map(([table, entry]) => `${table} ${entry.rows} ${entry.sum}`).join("; "),
  };
}
