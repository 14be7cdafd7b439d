// Every page of the console is accessible for people who use a keyboard or a screen reader: axe finds nothing, in light and in dark colours.

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { findingsInBothSchemes } from "../../support/console/axe.ts";
import { openBrowser } from "../../support/console/browser.ts";
import { startFilledSite } from "../../support/console/filled-site.ts";
import { desktop, openConsole } from "../../support/console/page.ts";

// Most of the time is spent in axe, which is slow on a busy machine.
setDefaultTimeout(180_000);

const [server, browser] = await Promise.all([startFilledSite(), openBrowser()]);
await (await server.signIn("anna")).call("POST", "/sites/shop/sandbox", {});
for (const path of ["brands/999.json", "nothing"]) await server.call("GET", `/restapi/${path}`);
afterAll(async () => {
  await browser.close();
  await server.stop();
});

test("axe finds nothing on any page, in light and in dark colours", async () => {
  const { page, show, finish } = await openConsole(browser, server, desktop);
  const found: Record<string, string[]> = {};
  for (const [name, path] of Object.entries({ ...server.pages, sites: "shop-sandbox/sites" })) {
    await show(path);
    const faults = await findingsInBothSchemes(page);
    if (faults.length > 0) found[name] = faults;
  }
  expect(found).toEqual({});
  await finish();
});
