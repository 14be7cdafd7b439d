// The console's pages read everything once.

import { afterAll, expect, test } from "bun:test";
import type { Request } from "playwright-core";
import { openBrowser } from "../../support/console/browser.ts";
import { startFilledSite } from "../../support/console/filled-site.ts";
import { openConsole } from "../../support/console/page.ts";

const [server, browser] = await Promise.all([startFilledSite(), openBrowser()]);
const view = await openConsole(browser, server);
const { page } = view;
// The pages' regular reads are repetitions too.
await page.addInitScript("window.setInterval = () => 0");
afterAll(async () => {
  await view.finish();
  await browser.close();
  await server.stop();
});

test.each(
  Object.entries(server.pages),
)("%s: reads nothing twice, whether it's the first page or opened from another", async (_, path) => {
  const paths: string[] = [];
  const note = (request: Request) => paths.push(request.url().slice(server.adminUrl.length));
  page.on("request", note);
  await page.goto("about:blank");
  await page.goto(`${server.adminUrl}/#/${path}`);
  await page.locator("#main-content h1, #main-content table").first().waitFor();
  await view.settled();
  const first = paths.splice(0);
  await view.show("outlet");
  paths.splice(0);
  await view.show(path);
  page.off("request", note);
  const repeated = (list: readonly string[]) => list.filter((one, index) => list.indexOf(one) !== index);
  expect([repeated(first), repeated(paths)]).toEqual([[], []]);
  expect(first).toContain("/operator/session");
  // The one that was read ahead is the one that the list shows.
  expect(first.filter((one) => /\/records\/\w+\?limit=\d\d&/.test(one)).length).toBeLessThan(2);
});
