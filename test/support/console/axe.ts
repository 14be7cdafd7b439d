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
 * @param within selector of the only element to look at, if there is one
 */
export async function findings(page: Page, within = "html"): Promise<string[]> {
  return run(page, element(within), {});
}

/**
 * Returns the findings of axe; of the rules that depend on colours, in light and in dark colours. The page keeps the last colours: a change of colours
 * draws everything again, which takes longer than most runs of axe.
 * @param within as in `findings`
 */
export async function findingsInBothSchemes(page: Page, within = "html"): Promise<string[]> {
  const others = await run(page, element(within), { rules: without(colourRules) });
  const isDark = await page.evaluate<boolean>("matchMedia('(prefers-color-scheme: dark)').matches");
  const [first, second] = isDark ? (["dark", "light"] as const) : (["light", "dark"] as const);
  const inFirst = await colourFindings(page, within);
  await page.emulateMedia({ colorScheme: second });
  await drawn(page);
  const inSecond = await colourFindings(page, within);
  return [...others, ...inFirst.map((each) => `${first}: ${each}`), ...inSecond.map((each) => `${second}: ${each}`)];
}

function colourFindings(page: Page, within: string): Promise<string[]> {
  return run(page, `{ include: (${unlikeTexts})(${JSON.stringify(within)}) }`, { runOnly: colourRules });
}

/** JavaScript of the element that a selector finds, or of the document. */
const element = (selector: string) => `document.querySelector(${JSON.stringify(selector)}) ?? document`;

const without = (rules: readonly string[]) => Object.fromEntries(rules.map((id) => [id, { enabled: false }]));

/**
 * Runs in the page. Returns an element for each combination of colours, sizes and backgrounds that its texts have: the rules that depend on colours
 * find the same in all elements of a combination, and a long page has thousands of them.
 */
const unlikeTexts = `(within) => {
  const found = new Map();
  const add = (element, above) => {
    const { color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, textDecorationLine } = getComputedStyle(element);
    const look = [element.localName === "a", color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, textDecorationLine].join();
    const looks = look === above.at(-1) ? above : [...above, look];
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
    if ((hasText || element.matches("input, textarea, select")) && element.checkVisibility()) {
      const key = looks.join(";");
      if (!found.has(key)) found.set(key, element);
    }
    for (const child of element.children) add(child, looks);
  };
  add(document.querySelector(within) ?? document.body, []);
  return [...found.values()];
}`;

/**
 * Runs axe, and returns its findings.
 * @param context JavaScript of what to look at
 * @param options of `axe.run`
 */
async function run(page: Page, context: string, options: object): Promise<string[]> {
  // By the debugger: the pages' own policy forbids scripts from elsewhere. Once per document, since compiling axe takes longer than most runs of it.
  if (!(await page.evaluate("Boolean(window.axe?.run)"))) await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(${context}, ${JSON.stringify({ resultTypes: ["violations"], ...options })})`,
  )) as { violations: Finding[] };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
