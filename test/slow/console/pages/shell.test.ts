// The frame of the console in a real browser: session, connection, sites and keyboard.

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { removeSite } from "../../../../src/operator/sites/site-removal.ts";
import { createSite, listSites } from "../../../../src/operator/sites/sites.ts";
import { openBrowser, openPage } from "../../../support/console/browser.ts";
import { startTestConsole, type TestConsole } from "../../../support/console/server.ts";

let server: TestConsole;
let page: Page;
const browser = await openBrowser();
afterAll(() => browser.close());
beforeEach(async () => {
  server = await startTestConsole();
  await server.addOperator("anna");
});
afterEach(async () => {
  await page.context().close();
  await server.stop();
});

async function open(path = "", width = 1280): Promise<void> {
  const watched = await openPage(browser, server.adminUrl, width, 800);
  page = watched.page;
  await page.goto(await server.link("anna"));
  await page.waitForSelector("header, main");
  if (path === "") return;
  // The console opens the first site.
  await page.waitForURL(/#\/shop$/);
  await page.goto(`${server.adminUrl}/#${path}`);
  await watched.settled();
}

const namesOf = async () => (await listSites(server.engine)).map(({ Name }) => Name);
const button = (name: string) => page.getByRole("button", { name, exact: true });

describe("sites", () => {
  test("can be added if the server has no site", async () => {
    await removeSite(server.engine, "shop", 1);
    await open("", 375);
    await page
      .getByText("Add your first site")
      .waitFor()
      .catch(() => {});
    await page.getByRole("textbox", { name: /^Name/ }).fill("garden");
    await button("Add").click();
    await button("Done").click();
    await page.waitForURL(/#\/garden/);
    expect(await namesOf()).toEqual(["garden"]);
  });

  test("can be searched if they are many, and their page does not scroll sideways on a phone", async () => {
    for (let i = 0; i < 60; i++) await createSite(server.engine, `shop-${i}`, {}, 1);
    await open("/shop/sites", 375);
    await page.getByText("11 more sites").waitFor();
    await page.getByLabel("Search sites").fill("shop-59");
    await page.getByRole("link", { name: "shop-59" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
  });
});

describe("the keyboard", () => {
  test("opens pages, the list of shortcuts, and a record of any site", async () => {
    const client = await server.signIn("anna");
    await client.call("POST", "/sites/shop/records/brands", { Name: "<script>alert(1)</script>" });
    await open();
    await page.getByText("Latest changes").first().waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.waitForURL(/#\/shop\/sites$/);
    await page.keyboard.press("?");
    await page.getByText("Go to brands").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Go to brands").waitFor({ state: "hidden" });
    await page.keyboard.press("Control+k");
    await page.getByLabel("Name, account number, code or ID").fill("<script>alert(1)</script>");
    await page.getByText("shop · brand 1 · Name").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/shop\/brands\/1$/);
  });
});

test("the bar and the menu are in the first response, in the chosen colours, and stay in their places when the script has run", async () => {
  await open();
  await page.getByRole("button", { name: "anna", exact: true }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await page.keyboard.press("Escape");
  await button("Close menu").click();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/console/*.js", async (route) => {
    await released;
    await route.continue();
  });
  /** The place and the colour of the bar, and of the element that has the menu. */
  const measure = () =>
    page.evaluate(`["header", "nav"].map((name) => {
      const element = document.querySelector(name);
      const coloured = name === "nav" && !element.closest("#frame") ? element.parentElement : element;
      const { x, y } = coloured.getBoundingClientRect();
      const { backgroundColor } = getComputedStyle(coloured);
      return { x, y, width: coloured.offsetWidth, height: coloured.offsetHeight, backgroundColor };
    })`);
  await page.reload({ waitUntil: "commit" });
  await page.locator("#frame nav").waitFor();
  const first = await measure();
  release();
  await page.locator("#main-content").waitFor();
  expect(await measure()).toEqual(first);
  expect(first).toMatchObject([{ height: 48, backgroundColor: "rgb(11, 11, 13)" }, { width: 56 }]);
  expect(await page.locator("#frame").count()).toBe(0);
});

test("every page of the menu has a shortcut", async () => {
  await open();
  const menu = page.getByRole("navigation").getByRole("link");
  await menu.filter({ hasText: "People" }).waitFor();
  const titles = await menu.allInnerTexts();
  await page.keyboard.press("?");
  const goals = page.getByRole("dialog").getByText(/^Go to /);
  await goals.first().waitFor();
  expect(titles).toContain("Import and export");
  expect(await goals.allInnerTexts()).toEqual(titles.map((title) => `Go to ${title}`));
});

test("the menu of the operator links to the licences of the packages in the console", async () => {
  await open();
  await page.getByRole("button", { name: /anna/ }).click();
  const opened = page.context().waitForEvent("page");
  await page.getByRole("menuitem", { name: "Licences" }).click();
  const licences = await opened;
  await licences.getByText("@mui/material 9").first().waitFor();
  expect(licences.url()).toBe(`${server.adminUrl}/console.js.LICENSE.txt`);
});
