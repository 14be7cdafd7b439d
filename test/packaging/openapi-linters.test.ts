// Linters of other projects accept the OpenAPI document as it comes, in both versions of OpenAPI, and find the faults that are put into it.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicResources } from "../../src/model/resource.ts";
import type { Schema } from "../../src/reference/json-schema.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import type { OpenapiDocument } from "../../src/reference/openapi/document-reader.ts";
import { toOpenapi30 } from "../../src/reference/openapi/openapi-30.ts";
import { allResources } from "../../src/resources/all.ts";
import { requireTool, tool } from "./tools/tools.ts";

const { Spectral } = requireTool("@stoplight/spectral-core");
const { oas } = requireTool("@stoplight/spectral-rulesets");
const folder = mkdtempSync(join(tmpdir(), "storefront-openapi-linters-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const newer = toOpenapi(publicResources(allResources));
const documents: [string, Schema][] = [
  ["3.0", toOpenapi30(newer as OpenapiDocument)],
  ["3.1", newer],
];

describe.each(documents)("the document in OpenAPI %s", (_, document) => {
  test("has no complaint from Spectral, which finds inserted faults", async () => {
    expect(await lintBySpectral(document)).toEqual([]);
    // One path takes less time than all. `oas3-schema` is the official JSON Schema of this version of OpenAPI.
    const paths = Object.fromEntries(Object.entries(document.paths as Schema).slice(0, 1));
    const components = { ...(document.components as Schema), other: {} };
    const faults = await lintBySpectral({ ...document, tags: [], paths, components });
    for (const fault of ["operation-tag-defined", "oas3-schema"]) expect(faults).toContain(fault);
  });

  test("has no complaint from Redocly, which finds inserted faults", () => {
    expect(lintByRedocly(document)).toEqual([]);
    const wrong = JSON.parse(
      JSON.stringify(document).replaceAll('"example":{"Name":"Dispatched"}', '"example":{"Name":1}'),
    );
    expect(new Set(lintByRedocly({ ...wrong, servers: [] }))).toEqual(
      new Set(["no-empty-servers", "no-invalid-media-type-examples"]),
    );
  }, 60_000);
});

/** Returns the rules that the document breaks. */
async function lintBySpectral(document: Schema): Promise<string[]> {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [[oas, "recommended"]] });
  const results: { code: string }[] = await spectral.run(JSON.stringify(document));
  return results.map(({ code }) => code);
}

/** Returns the rules that the document breaks, as the command of Redocly reports them. */
function lintByRedocly(document: Schema): string[] {
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" };
  const command = ["node", tool("@redocly/cli/bin/cli.js"), "lint", "--format=json", file];
  const { stdout } = Bun.spawnSync(command, { cwd: folder, env });
  const { problems } = JSON.parse(stdout.toString()) as { problems: { ruleId: string }[] };
  return problems.map(({ ruleId }) => ruleId);
}
