// Applies files of sites to an engine, as `apply` does.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSitesFiles } from "../../../src/commands/apply.ts";
import { formatYaml } from "../../../src/formats/yaml.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { applySites, type IssuedSecret, planSites, stepText } from "../../../src/operator/sites/apply-sites.ts";
import { describeSites } from "../../../src/operator/sites/sites-file.ts";
import { toDeliveryPolicy } from "../../../src/webhooks/address-policy.ts";

interface FileOptions {
  readonly prune?: boolean;
  /** Default: any number. */
  readonly allowRemovals?: number;
  /** Gets the secrets that are handed over, including those that turn out not to be needed. */
  readonly issued?: IssuedSecret[];
}

const policy = toDeliveryPolicy([]);

/** @returns the lines of the plan, and a function that applies it */
export async function planFile(
  engine: Engine,
  text: string,
  { prune = false, allowRemovals = Number.POSITIVE_INFINITY, issued = [] }: FileOptions = {},
) {
  const { sites, mistakes } = await readText(text);
  const settings = { prune, allowRemovals, policy, mistakes };
  const plan = await planSites(engine, sites, settings);
  return {
    lines: plan.steps.map(stepText),
    leftAlone: plan.leftAlone.length,
    apply: async () => {
      const finish = await applySites(engine, sites, settings, plan, (secrets) => void issued.push(...secrets));
      await finish();
    },
  };
}

/** @returns the lines of the plan that was applied */
export async function applyFile(engine: Engine, text: string, options?: FileOptions): Promise<readonly string[]> {
  const { lines, apply } = await planFile(engine, text, options);
  await apply();
  return lines;
}

export async function describeAll(engine: Engine): Promise<string> {
  return formatYaml({ sites: await describeSites(engine, [], Date.now()) });
}

export async function readText(text: string) {
  const folder = mkdtempSync(join(tmpdir(), "storefront-sites-"));
  try {
    const file = join(folder, "sites.yaml");
    writeFileSync(file, text);
    return await readSitesFiles([file], policy);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
