// `npm run check:spreadsheet` opens and saves exported workbooks in LibreOffice (Debian: `apt-get install libreoffice-calc-nogui`), and imports them again,
// which must not change anything. Exits with 1 if it does.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Fields } from "../../src/model/field.ts";
import { publicResources, type Resource } from "../../src/model/resource.ts";
import { allResources } from "../../src/resources/all.ts";
import { dataOf } from "../../test/support/programs/command-data.ts";

const [, version] =
  /LibreOffice (\S+)/.exec(spawnSync("soffice", ["--version"], { encoding: "utf8" }).stdout ?? "") ?? [];
if (version === undefined) {
  console.error("LibreOffice isn't installed; run `apt-get install libreoffice-calc-nogui`");
  process.exit(2);
}

/** LibreOffice ends all lines with LF, and doesn't escape a text such as `_x0041_` again. */
const values = [
  ...["00123", "=1+1", "+44 1632 960001", "-5", "@SUM(A1)", "'quoted", '"', "TRUE", "1e5", "1-2", "0.10", "#N/A"],
  ...["12345678901234567890", "  spaces  around ", "\t", "one\ntwo\n\nthree", "\n", "<b> & ]]> &amp;", "a,b;c"],
  ...["https://shop.example", "ada@shop.example", "👩‍👩‍👧‍👦 e\u0301", "\ufeffmark", "\u0085\u2028\u00a0", "a\u200bb"],
];
/** The largest ID that an import can create. */
const maxId = 999_999_999_999_999;

const folder = mkdtempSync(join(tmpdir(), "storefront-spreadsheet-"));
const data = dataOf(`sqlite:${join(folder, "data.db")}`);
let faults = 0;
try {
  await data.addSite("shop");
  for (const resource of publicResources(allResources)) {
    const result = await check(resource);
    console.log(`LibreOffice ${version}, ${resource.plural}: ${result}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.exit(faults > 0 ? 1 : 0);

async function check(resource: Resource): Promise<string> {
  const records = values.map((value) => valuesOf(resource.fields, value));
  const last = { ID: maxId, ...valuesOf(resource.fields, "last") };
  await data.load("shop", resource.path, JSON.stringify([...records, last]), { format: "json" });
  const file = join(folder, `${resource.path}.xlsx`);
  writeFileSync(file, await data.bytes("shop", resource.path, "xlsx"));
  const saved = join(folder, "saved");
  mkdirSync(saved, { recursive: true });
  const profile = `-env:UserInstallation=file://${join(folder, "profile")}`;
  const format = "xlsx:Calc MS Excel 2007 XML";
  const args = [profile, "--headless", "--convert-to", format, "--outdir", saved, file];
  const { status, stderr } = spawnSync("soffice", args, { encoding: "utf8", timeout: 120_000 });
  if (status !== 0) throw new Error(`LibreOffice failed: ${stderr}`);
  for (const [path, program] of [
    [file, "the export"],
    [join(saved, `${resource.path}.xlsx`), "what LibreOffice saved"],
  ] as const) {
    const { created, updated, unchanged, rejected } = await data.load("shop", resource.path, readFileSync(path), {
      format: "xlsx",
    });
    if (unchanged === values.length + 1 && created + updated + rejected === 0) continue;
    faults++;
    return `${program} created ${created} and updated ${updated} records, and ${rejected} rows were rejected`;
  }
  return `${values.length + 1} records, 0 updated`;
}

/** A record with `value` in every field that accepts any text, cut to the maximum length. */
function valuesOf(fields: Fields, value: string): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, field]) => {
    if (field.kind === "group") return [name, valuesOf(field.fields, value)];
    return [name, field.pattern ? field.example : [...value].slice(0, field.max).join("")];
  });
  return Object.fromEntries(entries);
}
