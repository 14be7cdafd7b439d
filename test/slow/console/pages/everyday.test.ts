// The console in a site with many records and unusual names, in a browser whose language is German.

import { afterAll, expect, test } from "bun:test";
import { withActor } from "../../../../src/system/with-actor.ts";
import { openBrowser } from "../../../support/console/browser.ts";
import { openConsole } from "../../../support/console/page.ts";
import { startTestConsole } from "../../../support/console/server.ts";
import { createBrand, createIntent, deleteBrand, idOf, updateBrand } from "../../../support/engine/intents.ts";

const [server, browser] = await Promise.all([startTestConsole(), openBrowser()]);
await createMany("first", ["Acme", "W".repeat(255)]);
await createMany(
  "supplier",
  Array.from({ length: 10_400 }, (_, index) => `Supplied ${index}`),
);
const view = await openConsole(browser, server, { locale: "de-DE" });
const page = view.page;
afterAll(async () => {
  await view.finish();
  await browser.close();
  await server.stop();
});

/** Creates brands in one run. */
async function createMany(run: string, names: readonly string[]) {
  const engine = withActor(server.engine, "console:anna", run);
  for (let done = 0; done < names.length; done += 1000) {
    const intents = names.slice(done, done + 1000).map((Name) => ({
      site: server.site.ID,
      resource: "brand",
      operation: "create" as const,
      valuesJson: JSON.stringify({ Name }),
      actor: "operator",
      at: Date.now(),
    }));
    await engine.commit(intents);
  }
}

test("an import of more changes than the server reads for a page is one entry, which expands into its changes", async () => {
  await view.show("shop/history");
  await page.getByRole("button", { name: /^Created 10,400 brands/ }).click();
  const latest = page.getByRole("button", { name: /^Created brand Supplied 10399/ });
  await latest.waitFor();
  await view.settled();
  const undo = page.getByRole("button", { name: "Undo" });
  // A page of changes would hide a button below it.
  expect((await undo.boundingBox())?.y).toBeLessThan((await latest.boundingBox())?.y ?? 0);
  await undo.click();
  const explained = page.getByText("10,400 records will be deleted.");
  await explained.waitFor();
  await page.keyboard.press("Escape");
  await explained.waitFor({ state: "hidden" });
});

test("the history of a record is found, although many later changes come after it", async () => {
  await view.show("shop/brands/1");
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("button", { name: /^Created brand Acme/ }).waitFor();
});

test("the summary of a run names each kind of change", async () => {
  const engine = withActor(server.engine, "console:anna", "mixed");
  const site = server.site.ID;
  const [outcome] = await engine.commit([createBrand(site, "Short-lived")]);
  await engine.commit([updateBrand(site, 2, { AccountNumber: "W1" }), deleteBrand(site, idOf(outcome) as number)]);
  await view.show("shop/history");
  await page.getByRole("button", { name: /^Created 1, changed 1 and deleted 1 brands/ }).waitFor();
});

test("a table shows the first four fields, the town and the country", async () => {
  await server.engine.commit([createIntent({ site: server.site.ID, resource: "location", values: { Name: "York" } })]);
  await view.show("shop/locations");
  await page.getByRole("columnheader", { name: "Name" }).waitFor();
  const headers = await page.getByRole("columnheader").allInnerTexts();
  expect(headers.filter((text) => text.trim() !== "")).toEqual([
    "ID",
    "Code",
    "Name",
    "Manager",
    "Email",
    "Town",
    "Country",
  ]);
});

test("times and numbers are in the language of the texts, whatever the language of the browser is", async () => {
  const timesOn = async (path: string) => {
    await view.show(path);
    await page.getByRole("button", { name: /^Created 2 brands/ }).waitFor();
    return page.locator("time").allInnerTexts();
  };
  expect(
    new Set((await timesOn("shop")).map((time) => time.replace(/^(just now|(1 minute|\d+ minutes) ago)$/, "…"))),
  ).toEqual(new Set(["…"]));
  expect((await timesOn("shop/history")).filter((time) => !/^\d\d:\d\d$/.test(time))).toEqual([]);
  expect(await page.getByRole("heading", { level: 2 }).last().innerText()).toMatch(
    /^(Today|Yesterday), [MTWFS][a-z]+day, \d+ [A-Z][a-z]+ \d{4}$/,
  );
});

test("the console says that a new key was not copied if the browser did not copy it", async () => {
  await page.evaluate(`{
    Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
    document.execCommand = () => false;
  }`);
  await view.show("shop/keys");
  await view.button("Create key").click();
  await view.field("Name").fill("warehouse till");
  await view.button("Create").click();
  await view.button("Copy: Key").click();
  await page.getByText("Couldn’t copy automatically.").waitFor();
  expect(await page.getByRole("button", { name: "Copy: Key" }).innerText()).toBe("Copy");
  expect(await page.evaluate("getSelection().toString()")).toMatch(/^sfk_/);
  await view.button("Done").click();
  await view.act(/warehouse till/, "Revoke");
  const question = page.getByRole("dialog", { name: "Revoke key “warehouse till”" });
  await question.waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "hidden" });
});

test("columns with the same name are told apart by their letters, and a question protects the choice of excluded rows", async () => {
  await view.show("shop/import");
  const buffer = Buffer.from("Name,Town,Town\r\nNew one,Oslo,Bergen\r\n");
  await page.locator("input[type=file]").setInputFiles({ name: "brands.csv", mimeType: "text/csv", buffer });
  await page.getByLabel("Field for Town (column C)").selectOption("Address.Town");
  await view.button("Check").click();
  await page.getByLabel("Select row 2 New one").uncheck();
  await view.button("Back").click();
  await page
    .getByRole("dialog", { name: "Discard your changes?" })
    .getByRole("button", { name: "Keep editing" })
    .click();
  expect(await page.getByLabel("Select row 2 New one").isChecked()).toBe(false);
  await page.getByLabel("Select row 2 New one").check();
});

test("the page lists an unfinished import, and the page of an unknown import refers to the history", async () => {
  await view.show("shop/keys");
  await view.show("shop/import");
  await page.getByRole("link", { name: "brands.csv Checked, not imported yet" }).click();
  await page.getByLabel("Select row 2 New one").waitFor();
  const missing = view.errors.length;
  await view.show("shop/import?id=none");
  await page.getByText("This import is no longer available").waitFor();
  expect(view.errors.splice(missing)).toEqual([expect.stringContaining("404")]);
});
