// Faults for people who use a keyboard or a screen reader, as axe finds them.

import type { Page } from "playwright-core";
import { drawn } from "./browser.ts";

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** The rules whose result depends on colours. Another colour scheme changes the result of no other rule. */
const colourRules = ["color-contrast", "link-in-text-block"];

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

/**
 * Returns the findings of axe, as `<rule>: <element>`.
 * @param rules those to check; all by default
 * @param within selector of the only element to look at, if there is one
 */
export async function findings(page: Page, rules?: readonly string[], within = "html"): Promise<string[]> {
  // By the debugger: the pages' own policy forbids scripts from elsewhere. Once per document, since compiling axe takes longer than most runs of it.
  if (!(await page.evaluate("Boolean(window.axe?.run)"))) await page.evaluate(axe);
  const options = { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) };
  const { violations } = (await page.evaluate(
    `axe.run(document.querySelector(${JSON.stringify(within)}) ?? document, ${JSON.stringify(options)})`,
  )) as { violations: Finding[] };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

/**
 * Returns the findings of axe in light colours, and in dark colours those of the rules that depend on colours. The page is in light colours before and after.
 * @param within as in `findings`
 */
export async function findingsInBothSchemes(page: Page, within?: string): Promise<string[]> {
  const light = await findings(page, undefined, within);
  await setColours(page, "dark");
  const dark = await findings(page, colourRules, within);
  await setColours(page, "light");
  return [...light, ...dark.map((finding) => `dark: ${finding}`)];
}

/** Sets the colour scheme, and waits until the page has drawn it. */
async function setColours(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await drawn(page);
}
