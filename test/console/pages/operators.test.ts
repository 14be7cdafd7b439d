// The page of the operators in a real browser.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { listOperators } from "../../../src/operator/operators.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { openBrowser } from "../../support/console/browser.ts";
import { desktop, openConsole, phone } from "../../support/console/page.ts";
import { startTestConsole, type TestConsole } from "../../support/console/server.ts";

let server: TestConsole;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startTestConsole(), openBrowser()]);
  await createSite(server.engine, "toys", {}, Date.now());
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const sitesOf = async (name: string) =>
  (await listOperators(server.engine)).find((operator) => operator.Name === name)?.siteNames;

test.each([
  ["at a desk", desktop],
  ["on a phone", phone],
])("the shops of an operator are changed %s, with effect on the next request", async (place, size) => {
  const name = `ben ${place}`;
  const ben = await server.signIn(name, ["shop"]);
  const view = await openConsole(browser, server, size);
  await view.show("shop/operators");
  await view.button(`Change shops: ${name}`).click();
  const dialog = view.page.getByRole("dialog");
  await dialog.getByRole("combobox").fill("toy");
  await view.page.getByRole("option", { name: "toys" }).click();
  await dialog.getByText(`The shops of ${name}`).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  const listed = view.page.getByRole(size === phone ? "article" : "row").filter({ hasText: name });
  await listed.getByText("shop, toys").waitFor();
  expect((await ben.call("GET", "/sites/toys/records/brands")).status).toBe(200);
  await view.finish();
});

test("the last operator of all shops gets a warning before limiting their own shops", async () => {
  const view = await openConsole(browser, server, desktop);
  await view.show("shop/operators");
  await view.button("Change shops: anna").click();
  const dialog = view.page.getByRole("dialog");
  await dialog.getByRole("radio", { name: "Only these shops" }).check();
  await dialog.getByText("This is you").waitFor();
  await dialog.getByText("last operator of all shops").waitFor();
  await dialog.getByRole("combobox").fill("toy");
  await view.page.getByRole("option", { name: "toys" }).click();
  await dialog.getByText("The shops of anna").click();
  await dialog.getByRole("button", { name: "Limit all the same" }).click();
  await dialog.waitFor({ state: "hidden" });
  expect(await sitesOf("anna")).toEqual(["toys"]);
  await view.finish(/403|404|Forbidden|Not Found/);
});
