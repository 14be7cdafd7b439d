// Faults for people who use a keyboard or a screen reader, as axe finds them.

import type { Page } from "playwright-core";

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

/**
 * What axe finds, as `<rule>: <element>`.
 * @param rules those to check; all by default
 * @param within selector of the only element to look at, if there is one
 */
export async function findings(page: Page, rules?: readonly string[], within = "html"): Promise<string[]> {
  // By the debugger: the pages' own policy forbids scripts from elsewhere.
  await page.evaluate(axe);
  const options = { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) };
  const { violations } = (await page.evaluate(
    `axe.run(document.querySelector(${JSON.stringify(within)}) ?? document, ${JSON.stringify(options)})`,
  )) as { violations: Finding[] };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
