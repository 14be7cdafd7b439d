// The pages work with a keyboard and a screen reader: axe finds nothing, at any size or in either colour scheme.

import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { findings, findingsInBothSchemes } from "../support/console/axe.ts";
import { openBrowser } from "../support/console/browser.ts";
import { pagePaths } from "../support/http/page-paths.ts";
import { startTestServer } from "../support/http/server.ts";
import { waitUntil } from "../support/time.ts";

const [server, browser] = await Promise.all([startTestServer(), openBrowser()]);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const [phone, desk] = [390, 1280];

test.each([
  ["on a phone", phone],
  ["at a desk", desk],
])("axe finds nothing %s, in light or dark colours", async (_, width) => {
  const page = await browser.newPage({ viewport: { width, height: 850 } });
  await page.goto(`${server.url}/`);
  for (const path of ["/", "/docs", "/docs/guide", "/docs/problems/gone", "/no-such-page"]) {
    await showHere(page, path);
    expect([path, await findingsInBothSchemes(page)]).toEqual([path, []]);
  }
  await page.close();
});

test("every page fits on a phone and at a desk", async () => {
  const page = await browser.newPage({ viewport: { width: phone, height: 850 } });
  await page.goto(`${server.url}/`);
  for (const path of pagePaths) {
    await showHere(page, path);
    for (const width of [phone, desk]) {
      await page.setViewportSize({ width, height: 850 });
      expect([path, await page.evaluate("document.documentElement.scrollWidth > innerWidth")]).toEqual([path, false]);
      if (width === phone) expect([path, await page.evaluate(brokenWords)]).toEqual([path, []]);
    }
  }
  await page.close();
});

/** The words in code that a line break splits, except in those that may not fit in a line, such as the name of a file with its version. */
const brokenWords = `(() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const code = node.parentElement.closest("code");
    if (!code || /\\S{30}/.test(code.textContent)) continue;
    for (const word of node.data.matchAll(/[\\w-]{2,}/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})()`;

/** Shows another page in this document, and lets the pages' script do what it does after a load. */
async function showHere(page: Page, path: string): Promise<void> {
  const response = await fetch(server.url + path, { headers: { Accept: "text/html" } });
  await page.evaluate(
    `(() => {
      const { documentElement, title, body } = new DOMParser().parseFromString(${JSON.stringify(await response.text())}, "text/html");
      document.documentElement.lang = documentElement.lang;
      document.title = title;
      document.body.replaceWith(body);
      for (const each of document.querySelectorAll("details")) each.open = true;
      document.dispatchEvent(new Event("DOMContentLoaded"));
    })()`,
  );
}

test("a page keeps its own colours, whatever the browser's are", async () => {
  const seen = [];
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    await page.goto(`${server.url}/docs/guide`);
    seen.push(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
    await context.close();
  }
  expect(seen.every((color) => /^rgb\(/.test(color as string))).toBe(true);
  expect(new Set(seen).size).toBe(2);
});

test("examples and tables can be reached and scrolled with the keyboard", async () => {
  const context = await browser.newContext({ viewport: { width: 390, height: 850 } });
  const page = await context.newPage();
  for (const [path, selector] of [
    ["/docs/errors", "pre"],
    ["/docs/guide", ".table"],
  ] as const) {
    await page.goto(server.url + path);
    const scrolled: unknown[] = [];
    for (const element of await page.locator(selector).all()) {
      if (!(await element.evaluate((node) => node.scrollWidth > node.clientWidth))) continue;
      await element.focus();
      await page.keyboard.press("End");
      for (let press = 0; press < 5; press++) await page.keyboard.press("ArrowRight");
      await waitUntil(() => element.evaluate((node) => node.scrollLeft > 0), `${selector} to scroll`);
      scrolled.push(await element.getAttribute("aria-label"));
    }
    expect(scrolled.length).toBeGreaterThan(0);
    expect(scrolled.every(Boolean)).toBe(true);
  }
  await context.close();
});

test("on a phone, the list of pages opens, passes axe, and closes with Escape", async () => {
  const context = await browser.newContext({ viewport: { width: 390, height: 850 } });
  const page = await context.newPage();
  await page.goto(`${server.url}/docs/formats`);
  const current = page.locator("#side [aria-current]");
  expect(await current.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu" }).click();
  expect(await current.textContent()).toBe("Formats");
  expect(await current.isVisible()).toBe(true);
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await current.waitFor({ state: "hidden" });
  await page.goto(`${server.url}/docs`);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("link", { name: "Delete a brand", exact: true }).click();
  await page.locator("#side").waitFor({ state: "hidden" });
  await page.waitForURL(/\/docs#deleteBrand$/);
  await context.close();
});
