// Linters of other projects accept the OpenAPI document.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type IRuleResult, Spectral } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";
import { publicResources } from "../../src/model/resource.ts";
import type { Schema } from "../../src/reference/json-schema.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import { allResources } from "../../src/resources/all.ts";
import { resultOf } from "../support/steps.ts";

const folder = mkdtempSync(join(tmpdir(), "storefront-openapi-linters-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const document = resultOf(toOpenapi(publicResources(allResources)));

test("the OpenAPI document has no warning from Spectral, which finds an inserted fault", async () => {
  expect(await lintBySpectral(document)).toEqual([]);
  const [fault] = await lintBySpectral({ ...document, tags: [] });
  expect(fault?.code).toBe("operation-tag-defined");
});

test("the OpenAPI document has no warning from Redocly, which finds inserted faults", () => {
  expect(lintByRedocly(document)).toEqual([]);
  const wrong = JSON.parse(
    JSON.stringify(document).replaceAll('"example":{"Name":"Dispatched"}', '"example":{"Name":1}'),
  );
  expect(new Set(lintByRedocly({ ...wrong, servers: [] }))).toEqual(
    new Set(["no-empty-servers", "no-invalid-media-type-examples"]),
  );
}, 60_000);

/**
 * Both linters check an example in XML against the schema of its value, and report that a string is not an object. OpenAPI 3.1 requires a
 * string (section 4.8.14). So Spectral's rule is off, Redocly's equivalent applies to JSON only, and `openapi.test.ts` checks the examples in XML.
 */
const spectralRules = { extends: [[oas, "recommended"]], rules: { "oas3-valid-media-example": "off" } };

async function lintBySpectral(document: Schema): Promise<IRuleResult[]> {
  const spectral = new Spectral();
  spectral.setRuleset(spectralRules as never);
  return spectral.run(JSON.stringify(document));
}

function isXmlExample(rule: string, pointer: string): boolean {
  return rule === "no-invalid-media-type-examples" && /application~1(?:problem\+)?xml\//.test(pointer);
}

/** The rules that the document breaks, as the command of Redocly reports. */
function lintByRedocly(document: Schema): string[] {
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  const redocly = join(import.meta.dir, "../../node_modules/@redocly/cli/bin/cli.js");
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" };
  const run = Bun.spawnSync(["node", redocly, "lint", "--format=json", file], { cwd: folder, env });
  const { problems } = JSON.parse(run.stdout.toString()) as {
    problems: { ruleId: string; location: { pointer: string }[] }[];
  };
  return problems
    .filter(({ ruleId, location }) => !isXmlExample(ruleId, location[0]?.pointer ?? ""))
    .map(({ ruleId }) => ruleId);
}
