// Other projects' linters accept the OpenAPI document unchanged, in both versions of OpenAPI, and find errors we insert.

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

describe.each(documents)("OpenAPI %s", (_, document) => {
  test("Spectral accepts it, and finds inserted errors", async () => {
    expect(await lintBySpectral(document)).toEqual([]);
    // One path is faster than all. `oas3-schema` is the official JSON Schema of this version of OpenAPI.
    const paths = Object.fromEntries(Object.entries(document.paths as Schema).slice(0, 1));
    const components = { ...(document.components as Schema), other: {} };
    const faults = await lintBySpectral({ ...document, tags: [], paths, components });
    for (const fault of ["operation-tag-defined", "oas3-schema"]) expect(faults).toContain(fault);
  });

  test("Redocly accepts it, and finds inserted errors", () => {
    expect(lintByRedocly(document)).toEqual([]);
    const wrong = JSON.parse(
      JSON.stringify(document).replaceAll('"example":{"Name":"Dispatched"}', '"example":{"Name":1}'),
    );
    expect(new Set(lintByRedocly({ ...wrong, servers: [] }))).toEqual(
      new Set(["no-empty-servers", "no-invalid-media-type-examples"]),
    );
  }, 60_000);
});

/** The rules that the document breaks. */
async function lintBySpectral(document: Schema): Promise<string[]> {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [[oas, "recommended"]] });
  const results: { code: string }[] = await spectral.run(JSON.stringify(document));
  return results.map(({ code }) => code);
}

/** The rules that the document breaks, as Redocly's command reports them. */
function lintByRedocly(document: Schema): string[] {
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" };
  const command = ["node", tool("@redocly/cli/bin/cli.js"), "lint", "--format=json", file];
  const { stdout } = Bun.spawnSync(command, { cwd: folder, env });
  const { problems } = JSON.parse(stdout.toString()) as { problems: { ruleId: string }[] };
  return problems.map(({ ruleId }) => ruleId);
}
