// Types generated for lists in languages other than TypeScript. If Python is installed, its types parse the server's responses. docs/clients.md lists the
// generators of whole clients.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DemoServer, startDemo } from "../support/programs/demo-server.ts";
import { requireTool } from "./tools/tools.ts";

const { FetchingJSONSchemaStore, InputData, JSONSchemaInput, quicktype } = requireTool("quicktype-core");
const document = JSON.parse(readFileSync(join(import.meta.dir, "../../docs/openapi.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "storefront-models-"));
let server: DemoServer;
beforeAll(async () => {
  server = await startDemo();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The file generated for the list at `path` in a language. */
async function generate(path: string, name: string, lang: string): Promise<string> {
  const { schema } = document.paths[path].get.responses[200].content["application/json"];
  const source = new JSONSchemaInput(new FetchingJSONSchemaStore());
  await source.addSource({ name, schema: JSON.stringify({ ...schema, components: document.components }) });
  const inputData = new InputData();
  inputData.addInput(source);
  return (await quicktype({ inputData, lang, rendererOptions: { package: "shop" } })).lines.join("\n");
}

const languages: [string, RegExp[]][] = [
  ["go", [/^type Brands \[\]Brand$/m, /^\s+Name\s+string\s+`json:"Name"`$/m, /^\s+Address\s+Address\s/m]],
  ["csharp", [/public static Brands\[\] FromJson/, /public string Name \{ get; set; \}/]],
  ["kotlin", [/^class Brands\(elements: Collection<Brand>\)/m, /^\s+val name: String,$/m]],
  ["swift", [/^typealias Brands = \[Brand\]$/m, /let accountNumber: String$/m]],
  ["rust", [/^pub type Brands = Vec<Brand>;$/m, /^\s+(?:pub )?account_number: String,$/m]],
  ["php", [/class Brands\b/, /private string \$accountNumber;/]],
];

test.each(languages)("a list is a list of whole records in %s", async (lang, expected) => {
  const text = await generate("/restapi/brands.json", "Brands", lang);
  for (const pattern of expected) expect(text).toMatch(pattern);
});

test("a page of the feed has its changes and the cursor after them in Go", async () => {
  const text = await generate("/restapi/changes.json", "Changes", "go");
  for (const pattern of [/^\s+Next\s+string\s+`json:"Next"`$/m, /^\s+More\s+bool\s/m, /^\s+Record\s/m])
    expect(text).toMatch(pattern);
});

test.skipIf(Bun.which("python3") === null)("the generated Python types parse the server's responses", async () => {
  const lists = { brands: "Brands", orderstatuses: "OrderStatuses", locations: "Locations" };
  for (const [path, name] of Object.entries(lists)) {
    writeFileSync(join(folder, `${path}.py`), await generate(`/restapi/${path}.json`, name, "python"));
  }
  const program = `
import json, sys, urllib.request
import brands, locations, orderstatuses
def read(path):
    request = urllib.request.Request(f"{sys.argv[1]}/restapi/{path}.json", headers={"X-API-AUTH": sys.argv[2]})
    return json.load(urllib.request.urlopen(request))
print(json.dumps([
    [brand.address.town for brand in brands.brands_from_dict(read("brands"))][1],
    orderstatuses.order_statuses_from_dict(read("orderstatuses"))[4].name,
    locations.locations_from_dict(read("locations"))[0].telephone.daytime,
]))`;
  writeFileSync(join(folder, "read.py"), program);
  const run = Bun.spawn(["python3", "read.py", server.url, server.key], {
    cwd: folder,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, complaint] = await Promise.all([run.stdout.text(), run.stderr.text()]);
  expect(complaint).toBe("");
  expect(JSON.parse(output)).toEqual(["Bergen", "Cancelled", "01632 960010"]);
});
