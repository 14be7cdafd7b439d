// The console in forced colours, on paper, and at 200% zoom.

import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { ConsolePage } from "../../../support/console/page.ts";
import { openConsole } from "../../../support/console/page.ts";
import { type SitePage, useSitePage } from "../../../support/console/use-console.ts";

setDefaultTimeout(60_000);

let site: SitePage;
let view: ConsolePage;
let page: Page;
useSitePage((opened) => {
  site = opened;
  ({ view, page } = opened);
});

test("forced colours: every button has a border", async () => {
  await page.emulateMedia({ forcedColors: "active" });
  for (const path of Object.values(site.server.pages)) {
    await view.show(path);
    const buttons = 'document.querySelectorAll(".MuiButton-root, .MuiIconButton-root")';
    const widths = await page.evaluate<string[]>(`[...${buttons}].map((one) => getComputedStyle(one).borderTopWidth)`);
    expect([path, new Set(widths)]).toEqual([path, new Set(["1px"])]);
  }
  await page.emulateMedia({ forcedColors: "none" });
});

test("print: only the page, or only what's open over it, and all of it, in dark text", async () => {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await view.show("shop/webhooks");
  const main = page.getByRole("main");
  expect(await main.isVisible()).toBe(true);
  for (const hidden of ["header", "nav", "button"]) expect(await page.locator(`${hidden}:visible`).count()).toBe(0);
  expect((await main.boundingBox())?.x).toBe(0);
  expect(await page.evaluate("getComputedStyle(document.body).color")).toBe("rgb(24, 24, 27)");
  await view.show(site.server.pages.location ?? "");
  await page.getByRole("textbox", { name: "Postcode" }).waitFor();
  expect(await page.locator("main").isVisible()).toBe(false);
  const last = await page.getByRole("textbox", { name: "Country" }).boundingBox();
  expect(Number(last?.y)).toBeLessThan(Number(await page.evaluate("document.documentElement.scrollHeight")));
  await page.emulateMedia({ media: "screen", colorScheme: "light" });
});

test("200% zoom: no page is wider than the window", async () => {
  const zoomed = await openConsole(site.browser, site.server, { width: 640, height: 400, operator: "ben" });
  for (const path of Object.values(site.server.pages)) {
    await zoomed.show(path);
    expect([path, await zoomed.page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, 640]);
  }
  await zoomed.finish();
});
