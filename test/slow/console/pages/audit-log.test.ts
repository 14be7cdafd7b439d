// The audit log in a real browser.

import { afterAll, expect, test } from "bun:test";
import { openBrowser } from "../../../support/console/browser.ts";
import { startFilledSite } from "../../../support/console/filled-site.ts";
import { desktop, openConsole, phone } from "../../../support/console/page.ts";

const [server, browser] = await Promise.all([startFilledSite(), openBrowser()]);
afterAll(async () => {
  await browser.close();
  await server.stop();
});

test.each([
  ["at a desk", desktop],
  ["on a phone", phone],
])("says who did what, has filters in the address and shows details %s", async (_, size) => {
  const view = await openConsole(browser, server, size);
  const { page } = view;
  await view.follow("Audit log");
  const entry = page.getByRole("button", {
    name: /Created key “warehouse till” .* with the rights: read \(shop\) anna/,
  });
  await entry.waitFor();
  if (size === phone) await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("combobox", { name: "About" }).click();
  await page.getByRole("option", { name: "API keys" }).click();
  await view.settled();
  expect(page.url()).toContain("subject=keys");
  await page.getByText(/Signed in/).waitFor({ state: "detached" });
  await page.reload();
  await entry.waitFor();
  await entry.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("cell", { name: "warehouse till", exact: true }).waitFor();
  await page.getByRole("link", { name: "Open page" }).click();
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  await view.finish();
});

test("downloads what it shows as CSV", async () => {
  const view = await openConsole(browser, server);
  await view.show("shop/audit?subject=keys");
  const download = view.page.waitForEvent("download");
  await view.page.getByRole("link", { name: "Download as CSV" }).click();
  const path = await (await download).path();
  const text = await Bun.file(path).text();
  expect(text).toContain("warehouse till");
  expect(text).not.toContain("sign-in");
  await view.finish();
});

test("isn't in the menu of an operator who can't see settings, and its address says who can open it", async () => {
  await server.addOperator("edda", [], "editor");
  const view = await openConsole(browser, server, { operator: "edda" });
  expect(await view.page.getByRole("link", { name: "Audit log" }).count()).toBe(0);
  await view.show("shop/audit");
  await view.page.getByText("You don’t have access to this page").waitFor();
  await view.finish();
});
