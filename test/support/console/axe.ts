// Faults for people who use a keyboard or a screen reader, as axe finds them.

import type { Page } from "playwright-core";
import { drawn } from "./browser.ts";

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

/** Returns the findings of axe, as `<rule>: <element>`. */
export async function findings(page: Page): Promise<string[]> {
  return run(page, {});
}

/** The same in light and in dark colours. In the other scheme, only the rules that depend on colours are checked again. */
export async function findingsInBothSchemes(page: Page): Promise<string[]> {
  const inOne = await findings(page);
  const isDark = await page.evaluate<boolean>("matchMedia('(prefers-color-scheme: dark)').matches");
  await page.emulateMedia({ colorScheme: isDark ? "light" : "dark" });
  await drawn(page);
  return [...inOne, ...(await run(page, { runOnly: ["color-contrast", "link-in-text-block"] }))];
}

async function run(page: Page, options: object): Promise<string[]> {
  // By the debugger: the pages' own policy forbids scripts from elsewhere. Once per document, since compiling axe takes longer than most runs of it.
  if (!(await page.evaluate("Boolean(window.axe?.run)"))) await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ resultTypes: ["violations"], ...options })})`,
  )) as { violations: Finding[] };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
