// Pages whose scripts are loaded when they're opened: without a network, and after an upgrade of the server.

import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { unpackConsole } from "../../../src/admin/console.ts";
import { buildConsole, packConsole } from "../../../src/admin/console-build.ts";
import { openBrowser } from "../../support/console/browser.ts";
import { openConsole } from "../../support/console/page.ts";
import { startTestConsole } from "../../support/console/server.ts";

const built = await buildConsole();
const versions = [unpackConsole(await packConsole(built, 1)), unpackConsole(await packConsole(renamed(), 1))] as const;
let served: (typeof versions)[number];
const server = await startTestConsole({ loadScript: async () => served });
const anna = await server.signIn("anna");
await anna.call("POST", "/sites/shop/records/brands", { Name: "Acme" });
const browser = await openBrowser();
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const firstScripts = new Set(versions.flatMap(({ entries, imported }) => [...entries, ...imported]));
let page: Page;
beforeEach(async () => {
  served = versions[0];
  ({ page } = await openConsole(browser, server));
  await page.goto(`${server.adminUrl}/#/shop/brands`);
  await page.route(parts, (route) => route.abort());
  await page.reload();
  await keys().waitFor();
});
afterEach(() => page.context().close());

/** The scripts that aren't loaded with the page. */
const parts = ({ pathname }: URL) => pathname.startsWith("/console/") && !firstScripts.has(pathname.slice(9));
const letThrough = () => page.unroute(parts);
const keys = () => page.getByRole("navigation").getByRole("link", { name: "API keys" });
const shown = (heading: string) => page.getByRole("heading", { name: heading }).waitFor();

/** Returns another version of the console: the same scripts by other names. */
function renamed(): typeof built {
  const rename = (text: string) =>
    [...built.scripts.keys()].reduce((all, name) => all.replaceAll(name, name.replace(".js", "0.js")), text);
  const scripts = new Map([...built.scripts].map(([name, script]) => [rename(name), rename(script)]));
  return { ...built, entries: built.entries.map(rename), imported: built.imported.map(rename), scripts };
}

test("a script that failed is loaded again", async () => {
  const failed = page.waitForEvent("requestfailed");
  await keys().click();
  await failed;
  await letThrough();
  await shown("API keys");
  expect(await page.getByText("The console was updated").count()).toBe(0);
});

test("while the server can't be reached, the page says so, and shows its content once the server is back", async () => {
  const startAdmin = await server.stopAdmin();
  await keys().click();
  await page.getByText("Reconnecting").waitFor();
  await letThrough();
  await startAdmin();
  await shown("API keys");
});

test("after an upgrade, the page is loaded again, and says why", async () => {
  served = versions[1];
  await letThrough();
  await keys().click();
  await shown("API keys");
  await page.getByRole("alert").getByText("The console was updated").waitFor();
  const script = await page.locator("script[src*=main-]").getAttribute("src");
  expect(script).toBe(`/console/${versions[1].entries.at(-1)}`);
});

test("if servers of two versions share the address, the page is only reloaded once by itself", async () => {
  // The first server sends each page, and the other one responds to the check whether there's another version.
  const [first = "", other = ""] = versions.map(({ entries }) => entries.at(-1));
  await page.route(`${server.adminUrl}/`, async (route) => {
    if (route.request().resourceType() !== "fetch") return route.continue();
    const response = await route.fetch();
    return route.fulfill({ response, body: (await response.text()).replace(first, other) });
  });
  const reloaded = page.waitForEvent("load");
  await keys().click();
  await reloaded;
  await shown("The console was updated");
  await page.getByRole("button", { name: "Reload page" }).waitFor();
});

test("after an upgrade, unsaved edits stay, and the operator decides when to load the page again", async () => {
  await page.getByRole("gridcell", { name: "Acme", exact: true }).focus();
  await page.keyboard.type("Ajax");
  await page.keyboard.press("Enter");
  const save = page.getByRole("button", { name: "Save", exact: true });
  await save.waitFor();
  served = versions[1];
  await page.getByRole("link", { name: /^Open .*, ID 1$/ }).click();
  await shown("The console was updated");
  const asked = page.waitForEvent("dialog");
  const reload = page.getByRole("button", { name: "Reload page" }).click();
  await (await asked).dismiss();
  await reload;
  await page.keyboard.press("Escape");
  await save.click();
  await page.getByRole("gridcell", { name: "Ajax", exact: true }).waitFor();
  await letThrough();
  await keys().click();
  await shown("API keys");
});

test("a page that was sent by another version, or while the scripts were being built, loads itself again", async () => {
  served = versions[1];
  const script = page.waitForResponse(/main-/);
  await page.route(`${server.adminUrl}/`, async (route) => {
    await page.unroute(`${server.adminUrl}/`);
    const response = await route.fetch();
    const body = (await response.text()).replaceAll("0.js", ".js");
    return route.fulfill({ response, body });
  });
  await page.reload();
  expect((await script).url()).toEndWith(`/${versions[0].entries.at(-1)}`);
  await page.locator(`script[src$="/${versions[1].entries.at(-1)}"]`).waitFor({ state: "attached" });
  await keys().waitFor();
});
