// A backup is untrusted input: a file that isn't exactly as `backup` wrote it is rejected.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { backUp, restore, verifyBackup } from "../../src/operator/backup/backup.ts";
import { createSite, listSites } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { createIntent } from "../support/engine/intents.ts";

type Row = [string, Record<string, unknown>];

const folder = mkdtempSync(join(tmpdir(), "storefront-backup-"));
const engine = await openEngine(`sqlite:${join(folder, "test.db")}`, allResources);
await createSite(engine, "shop", {}, 1);
await engine.commit([createIntent(), createIntent({ idempotency: { keyId: 1, name: "a", digest: "d" } })]);
// A deleted record is a row without a body.
await engine.commit([createIntent({ operation: "delete", id: 1, values: {} })]);
await backUp(engine, join(folder, "good.backup"), 1);
await engine.close();
const [first = "", ...lines] = gunzipSync(readFileSync(join(folder, "good.backup")))
  .toString()
  .trim()
  .split("\n");
const header = first;
const rows = lines.slice(0, -1).map((line) => JSON.parse(line));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a backup of `lines` as text. Its last line is correct unless `end` changes it. */
function toText(lines: readonly unknown[], end: object = {}): string {
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const sha256 = new Bun.CryptoHasher("sha256").update(body).digest("hex");
  return `${header}\n${body}${JSON.stringify({ rows: lines.length, sha256, ...end })}\n`;
}

const withRow = (change: (row: Row) => unknown) => toText(rows.map((row, n) => (n === 1 ? change(row) : row)));
const without = (column: string) => withRow(([table, row]) => [table, { ...row, [column]: undefined }]);

const damages: [string, () => string, RegExp][] = [
  ["whose number of rows is wrong", () => toText(rows, { rows: rows.length + 1 }), /damaged or incomplete/],
  ["whose digest is wrong", () => toText(rows, { sha256: "0".repeat(64) }), /damaged or incomplete/],
  ["whose rows are in another order", () => swapped(toText(rows)), /damaged or incomplete/],
  ["without its last line", () => `${header}\n${rows.map((row) => `${JSON.stringify(row)}\n`).join("")}`, /incomplete/],
  ["with only a header", () => `${header}\n`, /incomplete/],
  ["that starts with null", () => toText(rows).replace(header, "null"), /it's damaged/],
  ["that starts with a row", () => toText(rows).replace(`${header}\n`, ""), /wasn't written by `storefront backup`/],
  ["with a line that is null", () => `${toText(rows)}null\n`, /it's damaged/],
  ["with a row of an unknown table", () => withRow(([, row]) => ["theirs", row]), /rows that this one doesn't know/],
  ["with a row whose table is a number", () => withRow(([, row]) => [1, row]), /rows that this one doesn't know/],
  [
    "with a row whose table is named like a JavaScript object member",
    () => withRow(([, row]) => ["constructor", row]),
    /rows that this one doesn't know/,
  ],
  ["with a row that is null", () => withRow(([table]) => [table, null]), /rows that this one doesn't know/],
  ["with a row without a column", () => without("revision"), /rows that this one doesn't know/],
  [
    "with a value that is an object",
    () => withRow(([table, row]) => [table, { ...row, revision: {} }]),
    /doesn't know/,
  ],
  ["with a line that is a number", () => `${toText(rows)}5\n`, /it's damaged/],
  ["with a line that never ends", () => `${header}\n["records","${"x".repeat(30_000_000)}`, /a line that is too long/],
];

test.each(damages)("a backup %s is rejected, and nothing changes", async (_, make, reason) => {
  const file = join(folder, "bad.backup");
  writeFileSync(file, gzipSync(make()));
  const thrown = await verifyBackup(file).catch((error) => error);
  expect(thrown).toMatchObject({ code: "bad-request", message: expect.stringMatching(reason) });
  const engine = await openEngine(`sqlite:${join(folder, "other.db")}`, allResources);
  if ((await listSites(engine)).length === 0) await createSite(engine, "stays", {}, 1);
  const restored = await restore(engine, file, join(folder, "kept"), 1).catch((error) => error);
  expect(restored).toMatchObject({ code: "bad-request" });
  expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["stays"]);
  await engine.close();
});

test("a rewritten backup with a correct checksum is restored, with its deleted records", async () => {
  const file = join(folder, "again.backup");
  writeFileSync(file, gzipSync(toText(rows)));
  await verifyBackup(file);
  const engine = await openEngine(`sqlite:${join(folder, "again.db")}`, allResources);
  expect((await restore(engine, file, join(folder, "kept"), 1)).rows).toBe(rows.length);
  expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["shop"]);
  await engine.close();
});

function swapped(text: string): string {
  const lines = text.split("\n");
  const [first = "", second = ""] = lines.splice(1, 2);
  return [lines[0], second, first, ...lines.slice(1)].join("\n");
}
