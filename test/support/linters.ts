// Tests with linters of other projects. They are for two files, so that the two documents are linted at the same time.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type IRuleResult, Spectral } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";
import type { Schema } from "../../src/reference/json-schema.ts";

/** Describes that linters accept the OpenAPI document as it comes, and find inserted faults. @param version of OpenAPI */
export function describeLinters(version: string, document: Schema): void {
  const folder = mkdtempSync(join(tmpdir(), "storefront-openapi-linters-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  describe(`the document in OpenAPI ${version}`, () => {
    test("has no complaint from Spectral, which finds inserted faults", async () => {
      expect(await lintBySpectral(document)).toEqual([]);
      // One path takes less time than all. `oas3-schema` is the official JSON Schema of this version of OpenAPI.
      const paths = Object.fromEntries(Object.entries(document.paths as Schema).slice(0, 1));
      const components = { ...(document.components as Schema), other: {} };
      const faults = (await lintBySpectral({ ...document, tags: [], paths, components })).map(({ code }) => code);
      for (const fault of ["operation-tag-defined", "oas3-schema"]) expect(faults).toContain(fault);
    });

    test("has no complaint from Redocly, which finds inserted faults", () => {
      const lint = (linted: Schema) => lintByRedocly(linted, folder);
      expect(lint(document)).toEqual([]);
      const wrong = JSON.parse(
        JSON.stringify(document).replaceAll('"example":{"Name":"Dispatched"}', '"example":{"Name":1}'),
      );
      expect(new Set(lint({ ...wrong, servers: [] }))).toEqual(
        new Set(["no-empty-servers", "no-invalid-media-type-examples"]),
      );
    }, 60_000);
  });
}

async function lintBySpectral(document: Schema): Promise<IRuleResult[]> {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [[oas, "recommended"]] } as never);
  return spectral.run(JSON.stringify(document));
}

/** The rules that the document breaks, as the command of Redocly reports. @param folder for the document */
function lintByRedocly(document: Schema, folder: string): string[] {
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  const redocly = join(import.meta.dir, "../../node_modules/@redocly/cli/bin/cli.js");
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" };
  const run = Bun.spawnSync(["node", redocly, "lint", "--format=json", file], { cwd: folder, env });
  const { problems } = JSON.parse(run.stdout.toString()) as { problems: { ruleId: string }[] };
  return problems.map(({ ruleId }) => ruleId);
}
