// Looks for accessibility problems with axe.

import type { Page } from "playwright-core";
import { drawn } from "./browser.ts";

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

/** Returns axe's findings as `<rule>: <element>`. */
export async function findings(page: Page): Promise<string[]> {
  return run(page, {});
}

/** The same in light and dark colours. For the second scheme, only the rules that depend on colours are checked. */
export async function findingsInBothSchemes(page: Page): Promise<string[]> {
  const inOne = await findings(page);
  const isDark = await page.evaluate<boolean>("matchMedia('(prefers-color-scheme: dark)').matches");
  await page.emulateMedia({ colorScheme: isDark ? "light" : "dark" });
  await drawn(page);
  return [...inOne, ...(await run(page, { runOnly: ["color-contrast", "link-in-text-block"] }))];
}

async function run(page: Page, options: object): Promise<string[]> {
  // Inject it with the debugger, because the pages' policy forbids scripts from elsewhere, and only once per document, because compiling axe is slow.
  if (!(await page.evaluate("Boolean(window.axe?.run)"))) await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ resultTypes: ["violations"], ...options })})`,
  )) as { violations: Finding[] };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
