// Imports in the console: the upload, the check, the import, and the removal of the files (contract section 13).

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeOperator, setOperator } from "../../../src/operator/operators/operators.ts";
import { signOutEverywhere } from "../../../src/operator/operators/sessions.ts";
import { exportRecords } from "../../../src/operator/records/export-records.ts";
import { createSite, getSite } from "../../../src/operator/sites/sites.ts";
import { brand } from "../../../src/resources/brand.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { useConsole } from "../../support/console/use-console.ts";
import { engines } from "../../support/engine/engines.ts";
import { waitUntil } from "../../support/time.ts";
import { toWorkbook } from "../../support/workbooks.ts";

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const octets = { "Content-Type": "application/octet-stream" };
const times = (count: number, row: (n: number) => string) => Array.from({ length: count }, (_, n) => row(n)).join("");
/** Milliseconds that an import of many rows may take on a slow machine. */
const longMs = 60_000;
const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`storefront-imports-${process.pid}-`));

describe.each(engines)("imports on $name", (kind) => {
  const isFirst = kind === engines[0];
  let server: TestConsole;
  let anna: ConsoleClient;
  let sites = 0;
  let site = "";
  beforeAll(async () => {
    await kind.open();
    server = await startTestConsole({ settings: { DATABASE: await kind.newDatabase() } });
    anna = await server.signIn("anna");
  });
  afterAll(async () => {
    await server.stop();
    await kind.close();
  });

  let paths: string[] = [];
  afterEach(async () => {
    for (const path of paths) await anna.call("DELETE", path);
    paths = [];
  });

  async function newSite(names: readonly string[] = []) {
    site = `site${++sites}`;
    await createSite(server.engine, site, {}, Date.now());
    for (const Name of names) await anna.call("POST", `/sites/${site}/records/brands`, { Name });
  }

  async function upload(file: Uint8Array, client = anna): Promise<string> {
    const begun = await client.call("POST", `/sites/${site}/imports`, { resource: "brands", name: "supplier.csv" });
    const path = `/sites/${site}/imports/${begun.json.id}`;
    paths.push(path);
    for (let part = 0; part * 500_000 < file.length; part++) {
      const sent = await client.call(
        "PUT",
        `${path}/parts/${part}`,
        file.slice(part * 500_000, (part + 1) * 500_000),
        octets,
      );
      expect(sent.status).toBe(200);
    }
    return path;
  }

  function ended(path: string, client = anna) {
    return waitUntil(
      async () => {
        const { json } = await client.call("GET", path);
        return !["checking", "running"].includes(json.state) && json;
      },
      "the end of the import",
      { withinMs: longMs },
    );
  }

  /** Waits until an import has read its first rows. */
  const waitForRows = (path: string, client = anna) =>
    waitUntil(async () => (await client.call("GET", path)).json.rows > 0, "the first rows");

  async function act(path: string, name: "check" | "run", body: object) {
    const started = await anna.call("POST", `${path}/${name}`, body);
    expect([started.status, started.json.detail]).toEqual([200, undefined]);
    return ended(path);
  }

  const names = async () =>
    (await anna.call("GET", `/sites/${site}/records/brands?limit=1000`)).json.records.map(
      ({ record }: { record: { Name: string } }) => record.Name,
    );
  const rowsOf = async (path: string, kind: string) => (await anna.call("GET", `${path}/rows?kind=${kind}`)).json;

  test("a check reports the result of each row and stores nothing, and the import stores all rows except the excluded ones", async () => {
    await newSite(["Acme", "Zeta"]);
    const path = await upload(bytes("ID,Name\r\n1,Acme Ltd\r\n2,Zeta\r\n,New\r\n,Left out\r\nx,Bad\r\n"));
    const checked = await act(path, "check", { format: "csv" });
    expect(checked).toMatchObject({
      state: "checked",
      counts: { created: 2, updated: 1, unchanged: 1, rejected: 1 },
      revisions: null,
      hasRejects: true,
    });
    expect(await names()).toEqual(["Acme", "Zeta"]);
    expect(await rowsOf(path, "updated")).toMatchObject({
      total: 1,
      rows: [
        {
          row: 2,
          kind: "updated",
          id: 1,
          before: { ID: 1, Name: "Acme" },
          after: { ID: 1, Name: "Acme Ltd" },
          faults: [],
        },
      ],
    });
    expect((await rowsOf(path, "rejected")).rows).toMatchObject([
      { row: 6, after: { Name: "Bad", Address: { Town: "" } }, faults: [{ field: "ID" }] },
    ]);
    expect((await rowsOf(path, "unchanged")).rows).toMatchObject([{ row: 3, id: 2, after: { Name: "Zeta" } }]);
    const done = await act(path, "run", { without: [5] });
    expect(done).toMatchObject({
      state: "done",
      skipped: 1,
      counts: { created: 1, updated: 1, unchanged: 1, rejected: 1 },
    });
    expect(await names()).toEqual(["Acme Ltd", "Zeta", "New"]);
    const rejects = await anna.call("GET", `${path}/rejected`);
    expect(rejects.headers.get("Content-Disposition")).toBe('attachment; filename="rejected.csv"');
    expect(rejects.text).toContain("# row,# fault,ID,Name\r\n6,");
    const { first, last } = done.revisions;
    const undone = await anna.call("POST", `/sites/${site}/undo`, { since: first - 1, until: last, run: done.run });
    expect(undone.json).toMatchObject({ deleted: 1, restored: 1, skipped: [] });
    expect(await names()).toEqual(["Acme", "Zeta"]);
    expect((await anna.call("GET", path)).json.undone).toEqual({ deleted: 1, restored: 1, skipped: 0 });
  });

  test("a workbook's rejected rows are a workbook, rows for the same record have warnings, and other values suggestions", async () => {
    await newSite(["Acme"]);
    const rows = [
      ["Name", "Konto", "Land"],
      ["Acme", "00123", "DE"],
      ["Acme", "00456", "DE"],
      ["New", "007", "Deutschland"],
    ];
    const path = await upload(toWorkbook({ Suppliers: rows }));
    const mapping = { fields: { Name: "Name", AccountNumber: "Konto", "Address.Country": "Land" } };
    const checked = await act(path, "check", { mapping, match: "Name" });
    expect(checked).toMatchObject({
      counts: { created: 0, updated: 2, rejected: 1 },
      warned: 1,
      values: [{ field: "Address.Country", contents: [{ content: "Deutschland", rows: 1, suggestion: "DE" }] }],
    });
    const warning = { field: "Name", detail: expect.stringContaining("row 2 ") };
    const entry = { row: 3, kind: "updated", after: { AccountNumber: "00456" }, warnings: [warning] };
    expect(await rowsOf(path, "warned")).toMatchObject({ total: 1, rows: [entry] });
    const rejects = await anna.call("GET", `${path}/rejected`);
    expect(rejects.headers.get("Content-Disposition")).toBe('attachment; filename="rejected.xlsx"');
    expect(rejects.headers.get("Content-Type")).toBe(
      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    );
    const lookup = { column: "Land", lookup: { Deutschland: "DE" }, keep: true };
    const fields = { ...mapping.fields, "Address.Country": lookup };
    expect(await act(path, "check", { mapping: { fields }, match: "Name" })).toMatchObject({
      counts: { created: 1, rejected: 0 },
      warned: 1,
      values: [],
    });
    expect(await act(path, "run", { without: [3] })).toMatchObject({ counts: { created: 1, updated: 1 }, warned: 0 });
  });
  if (kind.name === "PostgreSQL") return;

  test("the records that a file lacks are counted by the check, removed only with their number, and restored by the undo of the import", async () => {
    await newSite(["Acme", "Best", "Cube", "Dune"]);
    const path = await upload(bytes("Name,Address.Country\nAcme,NO\nBest,Germany\nNew,\nCube,SE\n"));
    const options = { format: "csv", match: "Name", findMissing: true };
    const missing = { count: 1, total: 4, removed: 0, changed: 0 };
    expect(await act(path, "check", options)).toMatchObject({ missing, rows: 4, counts: { rejected: 1 } });
    expect(await rowsOf(path, "missing")).toMatchObject({
      total: 1,
      rows: [{ row: 0, kind: "missing", id: 4, before: { Name: "Dune" }, after: null }],
    });
    for (const [removals, status] of [
      [2, 409],
      ["1", 400],
      [-1, 400],
    ] as const)
      expect((await anna.call("POST", `${path}/run`, { removals })).status).toBe(status);
    // The record of an excluded row is kept, too.
    const done = await act(path, "run", { removals: 1, without: [5] });
    expect(done).toMatchObject({ missing: { ...missing, removed: 1 }, counts: { created: 1 } });
    expect(await names()).toEqual(["Acme", "Best", "Cube", "New"]);
    const { first } = done.revisions;
    await anna.call("POST", `/sites/${site}/undo`, { since: first - 1, run: done.run });
    expect(await names()).toEqual(["Acme", "Best", "Cube", "Dune"]);
  });

  test("a record that the file lacks is kept if it changes after the check, and all are kept without their number", async () => {
    await newSite(["Acme", "Best", "Cube"]);
    const file = bytes("Name\nAcme\n");
    const first = await upload(file);
    await act(first, "check", { format: "csv", match: "Name", findMissing: true });
    expect(await act(first, "run", {})).toMatchObject({ missing: null });
    const second = await upload(file);
    await act(second, "check", { format: "csv", match: "Name", findMissing: true });
    await anna.change(`/sites/${site}/records/brands`, 2, { AccountNumber: "A" });
    const { missing } = await act(second, "run", { removals: 2 });
    expect(missing).toEqual({ count: 1, total: 3, removed: 1, changed: 1 });
    expect(await names()).toEqual(["Acme", "Best"]);
  });

  test("a row whose ID was given to an earlier row without an ID is rejected by the check and by the import", async () => {
    await newSite();
    const path = await upload(
      bytes(`ID,Name\n${times(500, (n) => `,New ${n}\n`)}${times(600, (n) => `${n + 1},Own\n`)}`),
    );
    const counts = { created: 600, updated: 0, unchanged: 0, rejected: 500 };
    expect(await act(path, "check", { format: "csv" })).toMatchObject({ counts });
    expect(await act(path, "run", {})).toMatchObject({ counts });
    expect((await names()).slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, n) => `New ${n}`));
  });

  test.each([
    "csv",
    "json",
    "xml",
    "xlsx",
  ] as const)("an export as %s equals that of the command line, and its import changes nothing", async (format) => {
    await newSite(["<script>alert(1)</script>", '=cmd|"/c calc"!A1', "Ünïcode"]);
    const { ID } = await getSite(server.engine, site);
    const file = await anna.call("GET", `/sites/${site}/records/brands/export?format=${format}`);
    const content = await Array.fromAsync(exportRecords(server.engine, ID, brand, format, { isFile: true }));
    expect(Buffer.from(file.bytes)).toEqual(Buffer.concat(content.map((part) => Buffer.from(part as string))));
    expect(Buffer.from(file.bytes).toString().startsWith("\ufeff")).toBe(format === "csv");
    const name = `attachment; filename="${site}-brands-${new Date().toISOString().slice(0, 10)}.${format}"`;
    expect(file.headers.get("Content-Disposition")).toBe(name);
    const chosen = `format=${format}&search=c&sort=Name&order=desc`;
    const found = await anna.call("GET", `/sites/${site}/records/brands/export?${chosen}`);
    for (const [exported, unchanged] of [
      [file, 3],
      [found, 3],
    ] as const) {
      const path = await upload(exported.bytes);
      expect((await anna.call("POST", `${path}/preview`, {})).json.format).toBe(format);
      const counts = { created: 0, updated: 0, unchanged, rejected: 0 };
      expect((await act(path, "check", { format })).counts).toEqual(counts);
    }
  });

  test("an import that is stopped has stored a part of its rows, which can be undone", async () => {
    await newSite();
    const path = await upload(bytes(`Name\n${times(30_000, (n) => `Brand ${n}\n`)}`));
    expect((await act(path, "check", { format: "csv" })).counts.created).toBe(30_000);
    await anna.call("POST", `${path}/run`, {});
    await waitForRows(path);
    await anna.call("POST", `${path}/stop`);
    const { state, isInterrupted, counts, revisions, run } = await ended(path);
    expect([state, isInterrupted]).toEqual(["done", true]);
    expect(counts.created).toBeLessThan(30_000);
    expect((await anna.call("GET", `/sites/${site}/records/brands?limit=1`)).json.total).toBe(counts.created);
    const undone = await anna.call("POST", `/sites/${site}/undo`, { since: revisions.first - 1, run });
    expect(undone.json.deleted).toBe(counts.created);
  });

  /** Starts an import of many rows, as an operator of this site only, and waits for the first stored row. `stored` returns the number of stored rows. */
  const startLongImport = async (rows = 30_000) => {
    await newSite();
    await removeOperator(server.engine, "ben", Date.now()).catch(() => {});
    const ben = await server.signIn("ben", [site]);
    const path = await upload(bytes(`Name\n${times(rows, (n) => `Brand ${n}\n`)}`), ben);
    await ben.call("POST", `${path}/check`, { format: "csv" });
    await ended(path, ben);
    await ben.call("POST", `${path}/run`, {});
    const stored = async () => (await anna.call("GET", `/sites/${site}/records/brands?limit=1`)).json.total;
    await waitUntil(async () => (await stored()) > 0, "the first stored row");
    const waitForStored = (count: number) =>
      waitUntil(async () => (await stored()) >= count, `${count} rows`, { withinMs: longMs });
    return { ben, stored, waitForStored };
  };

  const endsOnBoth: [string, (ben: ConsoleClient) => Promise<unknown>][] = [
    ["is removed", () => removeOperator(server.engine, "ben", Date.now())],
    ["is signed out everywhere", () => signOutEverywhere(server.engine, "ben", Date.now())],
  ];
  const ends: typeof endsOnBoth = [
    ["ends all sessions in the console", (ben) => ben.call("DELETE", "/sessions")],
    ["may no longer manage the site", () => setOperator(server.engine, "ben", { sites: ["shop"] }, Date.now())],
    ["may only read", () => setOperator(server.engine, "ben", { role: "viewer" }, Date.now())],
  ];
  test.each(isFirst ? [...endsOnBoth, ...ends] : endsOnBoth)("an import stops when its operator %s", async (_, end) => {
    const { ben, stored } = await startLongImport();
    await end(ben);
    const next = await upload(bytes("Name\nNext\n"));
    await act(next, "check", { format: "csv" });
    // An import into the same site is accepted only after the end of this one.
    await waitUntil(async () => (await anna.call("POST", `${next}/run`, {})).status === 200, "the end of the import", {
      withinMs: longMs,
    });
    await ended(next);
    expect(await stored()).toBeLessThan(30_000);
  });

  // The other tests do not depend on the engine.
  if (!isFirst) return;

  test("an import continues when its operator signs out in one browser", async () => {
    const { ben, waitForStored } = await startLongImport(10_000);
    await ben.call("DELETE", "/session");
    await waitForStored(10_000);
  });

  const files: [string, Uint8Array, object][] = [
    [
      "that Excel saved as UTF-8 with a byte order mark and semicolons",
      bytes("\ufeffBrand name;Other\r\nMüller;x\r\n"),
      { encoding: "utf-8", delimiter: ";" },
    ],
    [
      "in UTF-16 with tabs",
      new Uint8Array(Buffer.from("\ufeffBrand name\tOther\r\nMüller\tx\r\n", "utf16le")),
      { encoding: "utf-16le", delimiter: "\t" },
    ],
    [
      "in windows-1252",
      new Uint8Array(Buffer.from("Brand name,Other\r\nMüller,x\r\n", "latin1")),
      { encoding: "windows-1252", delimiter: "," },
    ],
  ];
  test.each(files)("a file %s is read with a mapping", async (_, file, dialect) => {
    await newSite();
    const path = await upload(file);
    const detected = (await anna.call("POST", `${path}/preview`, {})).json;
    expect(detected).toMatchObject({ format: "csv", ...dialect });
    expect(detected.columns).toEqual([
      { letter: "A", name: "Brand name", key: "Brand name", field: "Name", isGuessed: true, samples: ["Müller"] },
      { letter: "B", name: "Other", key: "Other", isGuessed: false, samples: ["x"] },
    ]);
    const { encoding, delimiter } = detected;
    const options = { format: "csv", encoding, delimiter, mapping: { fields: { Name: "Brand name" } }, match: "Name" };
    expect(await act(path, "check", options)).toMatchObject({ options, counts: { created: 1, rejected: 0 } });
    await act(path, "run", {});
    expect(await names()).toEqual(["Müller"]);
  });

  const tables: [string, string, string][] = [
    ["sep= and short rows", "sep=;\nName;Address.Town\nA\nB;Oslo;\n", ";"],
    ["#TYPE and blank lines", '#TYPE System.Object\n\nName,"AccountNumber"\nA,="00123"\n, \nB, "2"\n', ","],
    ["joined files", "\ufeffName\tAccountNumber\nA\t1\n\ufeffName\tAccountNumber\nB\t2\n", "\t"],
  ];
  test.each(tables)("a table is read as on the command line: %s", async (_, text, delimiter) => {
    await newSite();
    const path = await upload(bytes(text));
    const preview = (await anna.call("POST", `${path}/preview`, {})).json;
    expect([preview.delimiter, preview.columns[0].name, preview.columns[0].samples]).toEqual([
      delimiter,
      "Name",
      ["A", "B"],
    ]);
    const { encoding, columns } = preview;
    const fields = Object.fromEntries(columns.map(({ name }: { name: string }) => [name, name]));
    const options = { format: "csv", encoding, delimiter, mapping: { fields } };
    expect((await act(path, "check", options)).counts).toMatchObject({ created: 2, rejected: 0 });
    await act(path, "run", {});
    expect(await names()).toEqual(["A", "B"]);
  });

  const previews: [string, Uint8Array, object, object][] = [
    [
      "CSV with a title",
      bytes("Our list\n\nFirma;Tel;Tel\nA;1;2\n"),
      {},
      { format: "csv", encoding: "utf-8", delimiter: ";", headerRow: 3 },
    ],
    ["CSV with another header", bytes("Our list\n\nFirma;Tel;Tel\nA;1;2\n"), { headerRow: 4 }, { headerRow: 4 }],
    [
      "a workbook",
      toWorkbook({ Cover: [["Anna"]], Brands: [["Our list"], [], ["Firma", "Tel", "Tel"], ["A", "1", "2"]] }),
      {},
      { format: "xlsx", sheets: ["Cover", "Brands"], sheet: "Brands", headerRow: 3 },
    ],
    [
      "another sheet without a header",
      toWorkbook({ Brands: [["Firma"]], More: [["x", "", "y".repeat(300)]] }),
      { sheet: "More", headerRow: 0 },
      { sheet: "More", headerRow: 0, rows: [{ number: 1, cells: ["x", "", "y".repeat(200)] }] },
    ],
  ];
  test.each(previews)("the preview shows how a table is read: %s", async (_, file, options, expected) => {
    await newSite();
    const path = await upload(file);
    const preview = (await anna.call("POST", `${path}/preview`, options)).json;
    expect(preview).toMatchObject(expected);
    expect("delimiter" in preview).toBe(preview.format === "csv");
    if ("headerRow" in options) return;
    expect(preview.rows.map(({ number }: { number: number }) => number)).toEqual([1, 3, 4]);
    expect(preview.columns).toMatchObject([
      { letter: "A", name: "Firma", key: "Firma", field: "Name", samples: ["A"] },
      { letter: "B", name: "Tel", key: "B", samples: ["1"] },
      { letter: "C", name: "Tel", key: "C", samples: ["2"] },
    ]);
    const { encoding, delimiter, sheet, headerRow } = preview;
    const mapping = { fields: { Name: "Firma", "Telephone.Daytime": "C" } };
    const checked = await act(path, "check", { encoding, delimiter, sheet, headerRow, mapping });
    expect(checked).toMatchObject({ error: null, counts: { created: 1 } });
    expect((await rowsOf(path, "created")).rows).toMatchObject([{ row: 4, after: { Telephone: { Daytime: "2" } } }]);
    await act(path, "run", {});
    expect(await names()).toEqual(["A"]);
  });

  const unreadable: [string, Uint8Array, object, string][] = [
    ["a PDF", bytes("%PDF-1.7"), {}, "this is a PDF"],
    ["no such sheet", toWorkbook({ Brands: [["Name"]] }), { sheet: "Brand" }, "no sheet `Brand`, only `Brands`"],
    ["no such row", toWorkbook({ Brands: [["Name"]] }), { headerRow: 2 }, "row 2 has no content"],
    ["a damaged workbook", toWorkbook({ Brands: [["Name"]] }).subarray(0, 500), {}, "the workbook is damaged"],
    ["an empty workbook", toWorkbook({ Brands: [] }), {}, "there are no rows in any visible sheet"],
  ];
  test.each(unreadable)("neither the preview nor the check reads %s", async (_, file, options, reason) => {
    await newSite();
    const path = await upload(file);
    const preview = await anna.call("POST", `${path}/preview`, options);
    expect([preview.status, preview.json.detail]).toEqual([400, expect.stringContaining(reason)]);
    const { state, error } = await act(path, "check", options);
    expect([state, error.detail]).toEqual(["failed", expect.stringContaining(reason)]);
  });

  test("a second header with other columns ends the check with the reason", async () => {
    await newSite();
    const path = await upload(bytes("Name,AccountNumber\nA,1\nAccountNumber,Name\n2,B\n"));
    const { state, error } = await act(path, "check", { format: "csv" });
    expect([state, error.detail]).toEqual(["failed", expect.stringMatching(/^row 3 is another header/)]);
  });

  const unicode: [string, string][] = [
    ["json", '[{"Name":"Łódź 😀"}]'],
    ["xml", '<?xml version="1.0" encoding="UTF-16"?><Results><Brand><Name>Łódź 😀</Name></Brand></Results>'],
    ["csv", "Name\nŁódź 😀\n"],
  ];
  test.each(unicode)("a file of UTF-16 is read, and UTF-32 is named: %s", async (format, text) => {
    for (const file of [Buffer.from(`\ufeff${text}`, "utf16le"), Buffer.from(text, "utf16le").swap16()]) {
      await newSite();
      const path = await upload(file);
      expect((await anna.call("POST", `${path}/preview`, {})).json.format).toBe(format);
      await act(path, "check", { format });
      await act(path, "run", {});
      expect(await names()).toEqual(["Łódź 😀"]);
    }
    const utf32 = Buffer.from([...text].map((character) => `${character.slice(0, 1)}\0`).join(""), "utf16le");
    const path = await upload(utf32);
    expect((await anna.call("POST", `${path}/preview`, {})).json.detail).toMatch(/^the file is UTF-32; /);
    expect((await act(path, "check", { format })).error.detail).toMatch(/^the file is UTF-32; /);
  });

  test("every encoding that the console offers is read", async () => {
    const { encodings } = (await anna.call("GET", "/resources")).json;
    expect(encodings).toContainValues(["utf-8", "shift_jis", "windows-1251", "iso-8859-15"]);
    await newSite();
    const path = await upload(bytes("Name\nA\n"));
    for (const encoding of encodings.filter((name: string) => !name.startsWith("utf-16")))
      expect((await anna.call("POST", `${path}/preview`, { encoding })).json).toMatchObject({
        encoding,
        columns: [{ name: "Name", samples: ["A"] }],
      });
    const unknown = await anna.call("POST", `${path}/preview`, { encoding: "utf-99" });
    expect([unknown.status, unknown.json.detail]).toEqual([400, expect.stringContaining(encodings.join(", "))]);
  });

  test("columns are mapped to the fields with their names", async () => {
    await newSite();
    const path = await upload(bytes(" name,id,# fault,name2\nA,1,,\n"));
    const { columns } = (await anna.call("POST", `${path}/preview`, {})).json;
    expect(columns.map(({ field }: { field?: string }) => field)).toEqual(["Name", "ID", undefined, undefined]);
  });

  test("a request for the columns of a finished import is 409", async () => {
    await newSite();
    const path = await upload(bytes("Name\nAcme\n"));
    await act(path, "check", { format: "csv" });
    await act(path, "run", {});
    expect((await anna.call("POST", `${path}/preview`, {})).status).toBe(409);
  });

  test("an import continues after a sign-out during which it stores rows", async () => {
    const { ben, stored, waitForStored } = await startLongImport(10_000);
    const { consumeCredential } = server.engine;
    const slowly = async (digest: string) => {
      const consumed = await consumeCredential(digest);
      await waitForStored(Math.min((await stored()) + 2000, 10_000));
      return consumed;
    };
    Object.assign(server.engine, { consumeCredential: slowly });
    expect((await ben.call("DELETE", "/session")).status).toBe(204);
    Object.assign(server.engine, { consumeCredential });
    await waitForStored(10_000);
  });

  test("an import that was stopped because of its operator shows the reason and the number of stored rows", async () => {
    await newSite();
    await removeOperator(server.engine, "ben", Date.now()).catch(() => {});
    const ben = await server.signIn("ben");
    const path = await upload(bytes(`Name\n${times(30_000, (n) => `Brand ${n}\n`)}`), ben);
    await ben.call("POST", `${path}/check`, { format: "csv" });
    await ended(path, ben);
    await ben.call("POST", `${path}/run`, {});
    await waitForRows(path, ben);
    await signOutEverywhere(server.engine, "ben", Date.now());
    const { state, error, revisions } = await ended(path, await server.signIn("ben"));
    expect([state, error.detail]).toEqual([
      "failed",
      expect.stringMatching(/stopped, because ben was signed out or removed; by then, \d+ records had been created/),
    ]);
    expect(revisions.last).toBeGreaterThan(0);
  });

  test("a check that fails shows the reason, and can be repeated with other options", async () => {
    await newSite();
    const path = await upload(bytes("Nam;Foo\nA;B\n"));
    const failed = await act(path, "check", { format: "csv" });
    expect([failed.state, failed.error.faults[0]]).toEqual([
      "failed",
      { field: "Nam", code: "unknown-field", detail: expect.stringContaining("did you mean Name?") },
    ]);
    const checked = await act(path, "check", { format: "csv", mapping: { fields: { Name: "Nam" } } });
    expect(checked).toMatchObject({ state: "checked", error: null, counts: { created: 1 } });
  });

  test("a check that fails in the middle of the file shows the rows before the failure", async () => {
    await newSite();
    const path = await upload(bytes(`[${times(1000, (n) => `{"Name":"Brand ${n}"},`)}never closed`));
    const failed = await act(path, "check", { format: "json" });
    expect([failed.state, failed.counts.created]).toEqual(["failed", 1000]);
    const { json } = await anna.call("GET", `${path}/rows?kind=created&offset=999`);
    expect([json.total, json.rows[0].after.Name]).toEqual([1000, "Brand 999"]);
  });

  const many: [string, string][] = [
    ["csv", `Name\n${times(20_000, (n) => `Brand ${n}\n`)}`],
    ["json", `[${times(20_000, (n) => `${n ? "," : ""}{"Name":"Brand ${n}"}`)}]`],
    ["xml", `<Results>${times(20_000, (n) => `<Brand><Name>Brand ${n}</Name></Brand>`)}</Results>`],
  ];
  test.each(many)("a check of many rows of %s yields to other requests", async (format, content) => {
    await newSite();
    const path = await upload(bytes(content));
    await anna.call("POST", `${path}/check`, { format });
    let seen = new Set<number>();
    for (let state = "checking"; state === "checking"; ) {
      const { json } = await anna.call("GET", path);
      state = json.state;
      seen = seen.add(json.rows);
    }
    // The first responses arrived during the check.
    expect(seen.size).toBeGreaterThan(2);
    expect((await anna.call("GET", path)).json.counts.created).toBe(20_000);
  });

  const faulty: [string, string, string][] = [
    ["json", '[{"Name":"A"},{"Name":""}]', '{"# row":2,"# fault":"Name: a value is required","Name":""}'],
    [
      "xml",
      "<Results><Brand><Name>A</Name></Brand><Brand/></Results>",
      "<!-- row 2: Name: a value is required -->\n<Brand/>",
    ],
  ];
  test("a rejected row is shown with the beginnings of its values", async () => {
    await newSite();
    const path = await upload(bytes(JSON.stringify([{ Name: "x".repeat(5000), Address: { Town: "y".repeat(5000) } }])));
    await act(path, "check", { format: "json" });
    const [row] = (await rowsOf(path, "rejected")).rows;
    expect(row.after).toMatchObject({ Name: "x".repeat(1000), Address: { Town: "y".repeat(1000) } });
    expect(row.faults[0]).toEqual({
      field: "Name",
      code: "too-long",
      max: 255,
      detail: "use 255 characters or fewer (this has 5000)",
    });
  });

  test.each(faulty)("the rejected rows of a %s file can be downloaded in that format", async (format, content, row) => {
    await newSite();
    const path = await upload(bytes(content));
    expect((await act(path, "check", { format })).hasRejects).toBe(true);
    await act(path, "run", {});
    const file = await anna.call("GET", `${path}/rejected`);
    expect(file.headers.get("Content-Disposition")).toBe(`attachment; filename="rejected.${format}"`);
    expect(file.text).toContain(row);
  });
});

describe("the files of imports", () => {
  let server: TestConsole;
  let anna: ConsoleClient;
  useConsole((started, operator) => {
    [server, anna] = [started, operator];
  });

  const start = (client: ConsoleClient) =>
    client.call("POST", "/sites/shop/imports", { resource: "brands", name: "a.csv" });

  test("can be read only by the user of the server, and are deleted when the operator signs out", async () => {
    const eve = await server.signIn("eve");
    const { id } = (await start(eve)).json;
    await eve.call("PUT", `/sites/shop/imports/${id}/parts/0`, bytes("Name\nA\n"), octets);
    const [file] = folders().map((folder) => join(tmpdir(), folder, id, "upload"));
    expect(statSync(file as string).mode & 0o777).toBe(0o600);
    await eve.call("DELETE", "/session");
    expect(statSync(file as string, { throwIfNoEntry: false })).toBeUndefined();
  });

  test("cannot be used by another operator", async () => {
    const { id } = (await start(anna)).json;
    const ben = await server.signIn("ben");
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["PUT", "/parts/0"],
      ["POST", "/preview"],
      ["POST", "/check"],
      ["GET", "/rows?kind=created"],
      ["POST", "/run"],
      ["POST", "/stop"],
      ["GET", "/rejected"],
    ] as const) {
      const { status } = await ben.call(method, `/sites/shop/imports/${id}${path}`, method === "GET" ? undefined : {});
      expect([method, path, status]).toEqual([method, path, 404]);
    }
    await anna.call("DELETE", `/sites/shop/imports/${id}`);
  });

  test("are limited to four imports per operator; a new import removes the least recently used one", async () => {
    const carl = await server.signIn("carl");
    const started = await Promise.all([1, 2, 3, 4].map(() => start(carl)));
    expect(started.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const { json } of started.slice(1)) await carl.call("GET", `/sites/shop/imports/${json.id}`);
    expect((await start(carl)).status).toBe(200);
    const found = await Promise.all(started.map(({ json }) => carl.call("GET", `/sites/shop/imports/${json.id}`)));
    expect(found.map(({ status }) => status)).toEqual([404, 200, 200, 200]);
  });

  const parts: [string, string, Record<string, string>, number][] = [
    ["with another number than the next", "5", octets, 409],
    ["whose number is not a number", "x", octets, 400],
    ["with the content type of a form", "0", { "Content-Type": "text/plain" }, 415],
  ];
  test.each(parts)("a part %s is rejected", async (_, part, headers, status) => {
    const path = `/sites/shop/imports/${(await start(anna)).json.id}`;
    expect((await anna.call("PUT", `${path}/parts/${part}`, bytes("Name\n"), headers)).status).toBe(status);
    await anna.call("DELETE", path);
  });

  test("a part that is sent twice is stored once", async () => {
    const path = `/sites/shop/imports/${(await start(anna)).json.id}`;
    for (const part of [0, 0, 1, 1]) await anna.call("PUT", `${path}/parts/${part}`, bytes("Name\n"), octets);
    expect((await anna.call("GET", path)).json).toMatchObject({ size: 10, parts: 2 });
    await anna.call("DELETE", path);
  });

  const wrong: [string, string, string, unknown, number][] = [
    ["a run before a check", "POST", "/run", {}, 409],
    ["rows before a check", "GET", "/rows?kind=created", undefined, 409],
    ["rows without a kind", "GET", "/rows", undefined, 400],
    ["a header row above the first", "POST", "/check", { headerRow: -1 }, 400],
    ["a sheet with a number instead of a name", "POST", "/preview", { sheet: 1 }, 400],
    ["a field that does not exist", "POST", "/check", { format: "csv", match: "Nam" }, 400],
    ["an encoding that does not exist", "POST", "/check", { format: "csv", encoding: "utf-99" }, 400],
    ["a delimiter that is a word", "POST", "/preview", { delimiter: "tab" }, 400],
    ["a mapping of an unknown field", "POST", "/check", { format: "csv", mapping: { fields: { Nam: "x" } } }, 400],
    ["rejected rows before a check", "GET", "/rejected", undefined, 404],
    ["an empty file", "POST", "/preview", {}, 400],
    ["missing records with a text", "POST", "/check", { format: "csv", findMissing: "yes" }, 400],
    ["excluded rows that are not numbers", "POST", "/run", { without: ["x"] }, 400],
  ];
  test.each(wrong)("a request for %s is rejected", async (_, method, path, body, status) => {
    const own = `/sites/shop/imports/${(await start(anna)).json.id}`;
    expect((await anna.call(method, `${own}${path}`, body)).status).toBe(status);
    await anna.call("DELETE", own);
  });

  test("are removed when the server stops", async () => {
    const other = await startTestConsole();
    const before = new Set(folders());
    await start(await other.signIn());
    const added = folders().filter((folder) => !before.has(folder));
    expect(added.length).toBe(1);
    await other.stop();
    expect(folders()).not.toContain(added[0]);
  });
});
