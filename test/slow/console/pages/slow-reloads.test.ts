// Dialogs close as soon as their action is stored, however long the page takes to reload its data.

import { afterEach, beforeAll, expect, test } from "bun:test";
import type { Page, Route } from "playwright-core";
import type { ConsolePage } from "../../../support/console/page.ts";
import type { ConsoleClient } from "../../../support/console/server.ts";
import { useSitePage } from "../../../support/console/use-console.ts";

let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
useSitePage((opened) => {
  ({ view, page, ben } = opened);
});
beforeAll(() => ben.call("POST", "/operators", { name: "dora", sites: null }));

const everything = "**/operator/**";
const dialog = () => page.getByRole("dialog").last();
const click = (name: string | RegExp) => view.button(name).first().click();
const choose = (name: string | RegExp) => dialog().getByRole("button", { name, exact: true }).click();

/** Holds back all reads from now on. @returns a function that lets them go */
async function holdReads(): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const hold = async (route: Route) => {
    if (route.request().method() === "GET") await promise;
    // The page may no longer need it.
    await route.continue().catch(() => {});
  };
  await page.route(everything, hold);
  return async () => {
    resolve();
    await view.settled();
    await page.unroute(everything, hold);
  };
}

let release = async () => {};
afterEach(() => release());

/** The page, what opens the dialog and fills it in, the button that acts, and what the page then shows without reading anything. */
const actions: [name: string, path: string, open: () => Promise<unknown>, act: string, then: string][] = [
  [
    "a field of many records",
    "shop/brands?sort=ID",
    async () => {
      await page.getByLabel("Select all on this page").check();
      await click("Edit a field");
      await dialog().getByLabel("Field", { exact: true }).selectOption("Town");
      await dialog().getByLabel("New value").fill("Ulm");
      await dialog().getByText("10 brands will change").waitFor();
    },
    "Update 10 brands",
    "10 records saved",
  ],
  [
    "a deletion",
    "shop/brands?sort=ID",
    async () => {
      // The records whose field was edited are still selected.
      await click("Clear selection");
      await page.getByLabel("Select Juniper Row").check();
      await click("Delete");
      await dialog().getByText("Juniper Row").waitFor();
    },
    "Delete",
    "1–9 of 9",
  ],
  ["an undo", "shop/history", () => click(/^Deleted brand Juniper Row/).then(() => click("Undo")), "Undo", ""],
  [
    "a changed key",
    "shop/keys",
    () => view.act(/warehouse till/, "Edit").then(() => view.field("Name").fill("till")),
    "Save",
    "",
  ],
  ["a replaced key", "shop/keys", () => view.act(/./, "Rotate"), "Rotate", "You won’t be able to see it again."],
  ["a revoked key", "shop/keys", () => view.act(/./, "Revoke"), "Revoke", ""],
  [
    "a changed site",
    "shop/sites",
    () => view.act("outlet", "Edit").then(() => view.field(/^Hostnames/).fill("outlet.example\nsale.example")),
    "Save",
    "",
  ],
  ["a suspended site", "shop/sites", () => view.act("outlet", "Suspend"), "Suspend", ""],
  ["a resumed site", "shop/sites", () => view.act("outlet", "Resume"), "Resume", ""],
  ["a removed operator", "shop/operators", () => view.act("dora", "Remove"), "Remove", ""],
];

test.each(actions)("the dialog of %s", async (_, path, open, act, then) => {
  await view.show(path);
  await open();
  const name = await dialog().getByRole("heading").first().innerText();
  release = await holdReads();
  await choose(act);
  await page.getByRole("dialog", { name }).waitFor({ state: "hidden" });
  if (then !== "") await page.getByText(then).first().waitFor();
  for (const button of await page.getByRole("button", { name: "Done" }).all()) await button.click();
});

test("the form of a record, and the bar of edited cells, whose new values stay and can be edited at once", async () => {
  await view.show("shop/brands/1");
  await view.field("Town").fill("Hull");
  release = await holdReads();
  await click("Save");
  await view.field("Town").waitFor({ state: "hidden" });
  await release();
  await view.show("shop/brands?sort=ID");
  const cell = page.locator("main tr[data-key='2'] td[data-column='AccountNumber']");
  const type = async (text: string) => {
    await cell.click();
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await page.getByText("1 unsaved change").waitFor();
    await page.keyboard.press("Control+s");
    await page.getByText("1 unsaved change").waitFor({ state: "hidden" });
    expect(await cell.innerText()).toBe(text);
  };
  release = await holdReads();
  await type("B-2");
  // The second edit starts from the version that the first one made.
  await type("B-3");
  await release();
  expect((await ben.call("GET", "/sites/shop/records/brands/2")).json.record.AccountNumber).toBe("B-3");
});

test("what's typed into a cell while an undo reloads the list, or while its record is deleted, is kept", async () => {
  await view.show("shop/brands?sort=ID");
  const cell = page.locator("main tr[data-key='2'] td[data-column='AccountNumber']");
  await cell.click();
  await page.keyboard.type("B-4");
  await page.keyboard.press("Control+s");
  await page.getByText("1 unsaved change").waitFor({ state: "hidden" });
  release = await holdReads();
  await page.getByRole("alert").getByRole("button", { name: "Undo" }).last().click();
  await page.getByText(/^Undone/).waitFor();
  await cell.evaluate((element) => (element as unknown as { focus(): void }).focus());
  await page.keyboard.type("new");
  await release();
  await cell.locator("input").waitFor();
  expect(await cell.locator("input").inputValue()).toBe("new");
  await ben.call("DELETE", "/sites/shop/records/brands", { ids: [2] });
  await page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))");
  await cell.waitFor({ state: "hidden" });
  await page.getByText("1 unsaved change").waitFor();
  await view.button("Discard").click();
  await view.button("Discard changes").click();
});
