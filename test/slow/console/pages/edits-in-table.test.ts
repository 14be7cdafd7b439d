// Edits in the table of records: staged, shown, saved together and undone; one value for many records; and both on a phone.

import { describe, expect, test } from "bun:test";
import type { Browser, Locator, Page } from "playwright-core";
import { type ConsolePage, openConsole, phone } from "../../../support/console/page.ts";
import { brandsPath } from "../../../support/console/record-form.ts";
import type { ConsoleClient } from "../../../support/console/server.ts";
import { type SitePage, useSitePage } from "../../../support/console/use-console.ts";
import { waitUntil } from "../../../support/time.ts";

let server: SitePage["server"];
let browser: Browser;
let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
// The server refuses values and changes that are not up to date, and one record is deleted.
useSitePage((opened) => {
  ({ server, browser, view, page, ben } = opened);
}, /400|404|409|412|net::ERR_FAILED/);

const press = (key: string) => page.keyboard.press(key);
const type = (text: string) => page.keyboard.type(text);
const cell = (id: number, column: string) => page.locator(`tr[data-key="${id}"] td[data-column="${column}"]`);
const isFocused = (target: Locator) => target.and(page.locator(":focus")).waitFor();
const pending = (count: number) =>
  count === 0
    ? page.getByText(/unsaved changes?/).waitFor({ state: "hidden" })
    : page.getByText(`${count} unsaved change${count === 1 ? "" : "s"}`).waitFor();
const button = (name: string) => page.getByRole("button", { name, exact: true });
const dialog = () => page.getByRole("dialog").last();
const said = (text: string | RegExp) => page.getByRole("alert").getByText(text).last().waitFor();
const brandOf = async (id: number) => (await ben.call("GET", `${brandsPath}/${id}`)).json.record;
const numbersOf = (...ids: number[]) => Promise.all(ids.map(async (id) => (await brandOf(id)).AccountNumber));

/** Lets the page ask at once whether its records have changed. */
const readAgain = () => page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))");

/** Types into a cell, and stages the text. */
async function edit(id: number, column: string, text: string): Promise<void> {
  await cell(id, column).click();
  await press("Control+a");
  await type(text);
  await press("Enter");
}

test("cells are edited with a click or by typing, and left with Enter, Tab, arrows or Escape", async () => {
  await view.show("shop/brands");
  await edit(1, "AccountNumber", "A-1");
  await isFocused(cell(2, "AccountNumber"));
  await type("A-2");
  await press("Tab");
  await isFocused(cell(2, "Address.Town"));
  await press("Enter");
  await type("Discarded");
  await press("Escape");
  await isFocused(cell(2, "Address.Town"));
  await press("ArrowDown");
  await type("Hull");
  await press("ArrowLeft");
  await isFocused(cell(3, "AccountNumber"));
  // Letters that begin an edit are not shortcuts.
  await type("n/?");
  await press("Enter");
  await pending(4);
  expect(await cell(3, "Address.Town").getAttribute("class")).toContain("staged");
  expect(await numbersOf(1, 2, 3)).toEqual(["", "", ""]);
});

test("staged edits stay while the list is searched, sorted and left for a record, and Ctrl+Z discards the last one", async () => {
  await view.field("Search").fill("Fernhill");
  await cell(1, "Name").waitFor({ state: "hidden" });
  await view.field("Search").fill("");
  await button("Sort by Name (descending)").click();
  await page.getByRole("link", { name: "Copperfield" }).click();
  await page.getByRole("heading", { name: "Copperfield" }).waitFor();
  await view.button("Close").click();
  await page.getByRole("heading", { name: "Copperfield" }).waitFor({ state: "hidden" });
  await pending(4);
  expect(await cell(1, "AccountNumber").innerText()).toBe("A-1");
  await focus(cell(5, "Name"));
  await press("Control+z");
  await pending(3);
  expect(await cell(3, "AccountNumber").innerText()).toBe("");
});

test("a question protects staged edits when the page is left", async () => {
  await page.getByRole("navigation").getByRole("link", { name: "API keys", exact: true }).click();
  await dialog().getByText("3 unsaved changes").waitFor();
  await dialog().getByRole("button", { name: "Keep editing" }).click();
  await pending(3);
});

test("staged edits are shown with their old values, and saved as one change with one undo", async () => {
  await edit(2, "Name", "Barn Owl & Co");
  await button("Review").click();
  const section = dialog().getByRole("region", { name: "Barn Owl Books" });
  await section.getByText("A-2").waitFor();
  expect(await section.locator("del").innerText()).toBe("Barn Owl Books");
  await dialog().getByRole("button", { name: "Undo: Copperfield" }).click();
  await dialog().getByRole("button", { name: "Save", exact: true }).click();
  await said("2 records saved");
  await pending(0);
  await page.getByRole("link", { name: "Barn Owl & Co" }).waitFor();
  expect(await numbersOf(1, 2, 3)).toEqual(["A-1", "A-2", ""]);
  await page.getByRole("alert").getByRole("button", { name: "Undo" }).click();
  await said("Undone");
  expect(await numbersOf(1, 2)).toEqual(["", ""]);
  await page.getByRole("link", { name: "Barn Owl Books" }).waitFor();
});

test("a refused value is marked at its cell with the reason, by the page or by the server, and nothing is stored", async () => {
  await edit(4, "Address.Country", "Germany");
  await cell(4, "Address.Country").getByText("use 3 characters or fewer").waitFor();
  await button("Save").click();
  await dialog().getByText("Fix the invalid values").waitFor();
  await press("Escape");
  await edit(4, "Address.Country", "DE");
  // A spreadsheet can contain characters that XML cannot carry.
  await paste(cell(5, "AccountNumber"), "A\u0007");
  await button("Save").click();
  await dialog().getByText("Fix the invalid values").waitFor();
  await press("Escape");
  await cell(5, "AccountNumber")
    .getByText(/XML can't carry/)
    .waitFor();
  expect((await brandOf(4)).Address.Country).toBe("");
  await edit(5, "AccountNumber", "A-5");
  await button("Save").click();
  await pending(0);
  expect((await brandOf(4)).Address.Country).toBe("DE");
});

/** Moves the focus without a click, which would begin an edit. */
async function focus(target: Locator): Promise<void> {
  await target.evaluate((element) => (element as unknown as { focus(): void }).focus());
}

/** Pastes a text, as if it came from a spreadsheet. */
async function paste(target: Locator, text: string): Promise<void> {
  await focus(target);
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", ${JSON.stringify(text)});
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }`);
}

test("cells from a spreadsheet are pasted from a cell on, and are one step for Ctrl+Z", async () => {
  await view.show("shop/brands?sort=ID&columns=Name,AccountNumber,Address.Town");
  await cell(1, "Address.Town").waitFor();
  await paste(cell(9, "AccountNumber"), "P-9\tYork\r\nP-10\tHull\r\nP-11\tLeeds\r\n");
  await said("You copied 3 rows, but the list ends after 2");
  await pending(0);
  await paste(cell(9, "AccountNumber"), "P-9\tYork\r\nP-10\tHull\r\n");
  await pending(4);
  expect(await cell(10, "Address.Town").innerText()).toBe("Hull");
  await press("Control+z");
  await pending(0);
});

test("pasted rows continue on the next pages, as one step, and a paste that doesn't fit changes nothing", async () => {
  const { records, total } = (await ben.call("GET", `${brandsPath}?limit=100&sort=Name`)).json;
  for (let i = total; i < 23; i++) await ben.call("POST", brandsPath, { Name: `Zeta ${i}` });
  await view.show("shop/brands?rows=10&columns=Name,AccountNumber,Address.Town");
  await readAgain();
  await page.getByText("1–10 of 23").waitFor();
  const first = records[0].record.ID;
  const start = cell(first, "AccountNumber");
  await paste(start, Array.from({ length: 22 }, (_, row) => `M-${row}`).join("\r\n"));
  await said("Pasted into 22 rows, 12 of them");
  await pending(22);
  await button("Go to next page").click();
  await button("Go to next page").click();
  await page.getByText("21–23 of 23").waitFor();
  await page.getByText("M-21").waitFor();
  expect(await page.locator("tbody td[data-column=AccountNumber]").allInnerTexts()).toEqual(["M-20", "M-21", ""]);
  await focus(page.locator("td.editable").first());
  await press("Control+z");
  await pending(0);
  await view.show("shop/brands?rows=10&columns=Name,AccountNumber,Address.Town");
  await paste(start, "x\n".repeat(24));
  await said("You copied 24 rows, but the list ends after 23");
  await paste(start, "a\tb\tc");
  await said("You copied 3 columns, but only 2 fit");
  await paste(start, "x".repeat(10_000_000));
  await said("too much to save at once");
  await start.click();
  await type("typed");
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "y\\n".repeat(24));
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }`);
  await said("You copied 24 rows, but the list ends after 23");
  await isFocused(start);
  // What was typed before is still there.
  await pending(1);
  const place = (target: Locator) => target.evaluate((element) => element.getBoundingClientRect());
  const [bar, notices] = [await place(page.locator("[data-bar]")), await place(page.locator("[data-notices]"))];
  expect(notices.bottom).toBeLessThanOrEqual(bar.top);
  await press("Control+z");
  await pending(0);
  const added = (await ben.call("GET", `${brandsPath}?search=zeta&limit=100`)).json.records;
  await ben.call("DELETE", brandsPath, { ids: added.map(({ record }: { record: { ID: number } }) => record.ID) });
  await readAgain();
});

test("a long text takes two lines of its row, and can be read in its tooltip and its editor", async () => {
  const long = `${"word ".repeat(50)}end`;
  await ben.change(brandsPath, 9, { Name: long });
  await view.show("shop/brands?sort=ID");
  await readAgain();
  await page.locator(`td [title="${long}"]`).waitFor();
  const height = await cell(9, "Name").evaluate((element) => element.getBoundingClientRect().height);
  expect(height).toBeLessThan(60);
  await cell(9, "Name").click();
  expect(await cell(9, "Name").locator("input").inputValue()).toBe(long);
  await press("Escape");
  await ben.change(brandsPath, 9, { Name: "Ivy House" });
  await readAgain();
  await cell(9, "Name").getByText("Ivy House").waitFor();
});

test("the form of a record has the edits of its cells, and saves or discards them for the table too", async () => {
  await view.show("shop/brands?sort=ID");
  const open = async (id: number) => {
    await cell(id, "ID").getByRole("link").click();
    await view.field("Account number").waitFor();
  };
  await edit(9, "AccountNumber", "F-9");
  await open(9);
  expect(await view.field("Account number").inputValue()).toBe("F-9");
  await press("Escape");
  await view.field("Account number").waitFor({ state: "hidden" });
  await pending(1);
  await open(9);
  await view.field("Town").fill("Hull");
  await view.button("Save").click();
  await said("Saved");
  await pending(0);
  expect(await brandOf(9)).toMatchObject({ AccountNumber: "F-9", Address: { Town: "Hull" } });
  await edit(9, "AccountNumber", "mine");
  await open(9);
  await ben.change(brandsPath, 9, { AccountNumber: "theirs" });
  await view.button("Save").click();
  await dialog().getByRole("radio", { name: "Theirs: theirs" }).check();
  await dialog().getByRole("button", { name: "Save", exact: true }).click();
  await waitUntil(async () => (await view.field("Account number").inputValue()) === "theirs", "the value of ben");
  await press("Escape");
  await pending(0);
});

describe("a record that someone else has changed meanwhile", () => {
  test("is not overwritten before the operator has decided, and the dialog says who has changed it and when", async () => {
    for (const id of [6, 7, 8]) await edit(id, "AccountNumber", `mine ${id}`);
    for (const id of [6, 7])
      await ben.change(brandsPath, id, { AccountNumber: `theirs ${id}`, Address: { Town: "Bensham" } });
    await button("Save").click();
    await dialog().getByText("Some of these records have changed").waitFor();
    const section = dialog().getByRole("region", { name: "Fernhill" });
    await section.getByText(/ben changed this/).waitFor();
    await section.getByText("Before: empty").waitFor();
    await section.getByText("Theirs: theirs 6").waitFor();
    await section.getByText("Theirs: Bensham").waitFor();
    expect(await numbersOf(6, 7, 8)).toEqual(["theirs 6", "theirs 7", ""]);
    await dialog().getByText("2 choices left").waitFor();
    await dialog().getByRole("button", { name: "Use all of theirs" }).click();
    await dialog().getByRole("button", { name: "Keep all of yours" }).click();
    await dialog().getByRole("radio", { name: "Theirs: theirs 7" }).check();
    await dialog().getByRole("button", { name: "Save", exact: true }).click();
    await pending(0);
    expect(await numbersOf(6, 7, 8)).toEqual(["mine 6", "theirs 7", "mine 8"]);
  });

  test("may be deleted by now", async () => {
    await edit(10, "AccountNumber", "too late");
    await ben.call("DELETE", brandsPath, { ids: [10] });
    await button("Save").click();
    await dialog()
      .getByText(/ben deleted this/)
      .waitFor();
    await dialog().getByRole("button", { name: "Discard my changes: Juniper Row" }).click();
    await pending(0);
    await cell(10, "Name").waitFor({ state: "hidden" });
  });
});

test("a field is set in all records that a search finds, after the dialog has said in how many", async () => {
  await view.show("shop/brands");
  await view.field("Search").fill("er");
  const found = (await ben.call("GET", `${brandsPath}?search=er`)).json.total;
  await page.getByText(`1–${found} of ${found}`).waitFor();
  await page.getByLabel("Select all on this page").check();
  await button("Edit a field").click();
  await dialog().getByLabel("Field", { exact: true }).selectOption("Country");
  await dialog().getByLabel("New value").fill("Germany");
  await dialog().getByText("use 3 characters or fewer").waitFor();
  await dialog().getByLabel("New value").fill("GB");
  await dialog().getByText(`${found} brands will change`).waitFor();
  await dialog()
    .getByRole("button", { name: `Update ${found} brands` })
    .click();
  await said(`${found} records saved`);
  const countries = async () =>
    (await ben.call("GET", `${brandsPath}?search=er`)).json.records.map(
      ({ record }: { record: { Address: { Country: string } } }) => record.Address.Country,
    );
  expect(new Set(await countries())).toEqual(new Set(["GB"]));
  await page.getByRole("alert").getByRole("button", { name: "Undo" }).click();
  await waitUntil(async () => !(await countries()).includes("GB"), "the countries as before");
});

test("a misspelt search suggests the nearest name", async () => {
  await view.show("shop/brands");
  await view.field("Search").fill("Harbor Lain");
  await button("Harbour Lane").click();
  await page.getByRole("link", { name: "Harbour Lane" }).waitFor();
  expect(await view.field("Search").inputValue()).toBe("Harbour Lane");
});

test("a record that someone else creates appears in a list that is open, although the page has all its records", async () => {
  await button("Clear search").click();
  await ben.call("POST", brandsPath, { Name: "Zeta, new" });
  await readAgain();
  await page.getByRole("link", { name: "Zeta, new" }).waitFor();
});

test("Enter in the last row of a page leads to the next page, the last row of all is not overwritten, and Ctrl+S saves", async () => {
  await ben.call("POST", brandsPath, { Name: "Zinnia" });
  const ids = (await ben.call("GET", `${brandsPath}?limit=100&sort=ID`)).json.records.map(
    ({ record }: { record: { ID: number } }) => record.ID,
  );
  expect(ids.length).toBe(11);
  await view.show("shop/brands?sort=ID&rows=10");
  await readAgain();
  await page.getByText("1–10 of 11").waitFor();
  const [ninth, tenth, eleventh] = ids.slice(8);
  await cell(tenth, "AccountNumber").waitFor();
  const widths = () =>
    page.locator("thead th").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
  const before = await widths();
  await edit(ninth, "AccountNumber", "L-9");
  // Typed without waiting for the next page.
  await type("L-10");
  await press("Enter");
  await type("L-11");
  await isFocused(cell(eleventh, "AccountNumber").locator("input"));
  await press("Enter");
  await isFocused(cell(eleventh, "AccountNumber"));
  expect(await widths()).toEqual(before);
  await type("L-12");
  await said("This is the last row");
  await pending(3);
  // The first press leads to the heading.
  await press("ArrowUp");
  await press("ArrowUp");
  await isFocused(cell(tenth, "AccountNumber"));
  await press("Control+s");
  await said("3 records saved");
  await isFocused(cell(tenth, "AccountNumber"));
  expect(await numbersOf(ninth, tenth, eleventh)).toEqual(["L-9", "L-10", "L-11"]);
});

test("edits whose response was lost are not a conflict when they are saved again with others", async () => {
  await page.route("**/changes", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await edit(4, "AccountNumber", "Once");
  await press("Control+s");
  await page.getByText("Can’t reach the server").waitFor();
  await page.unroute("**/changes");
  await edit(5, "AccountNumber", "Twice");
  await press("Control+s");
  await pending(0);
  expect(await numbersOf(4, 5)).toEqual(["Once", "Twice"]);
});

test("on a phone, records are ticked, get a value together, and are deleted", async () => {
  const small = await openConsole(browser, server, phone);
  await small.show("shop/brands?sort=ID");
  await small.page.getByLabel("Select Alder & Co").check();
  await small.page.getByLabel("Select Copperfield").check();
  await small.page.getByText("2 selected").waitFor();
  await small.button("Edit a field").click();
  await small.page.getByLabel("Field", { exact: true }).selectOption("Town");
  await small.field("New value").fill("Bath");
  await small.button("Update 2 brands").click();
  await small.page.getByText("2 records saved").waitFor();
  await waitUntil(async () => (await brandOf(3)).Address.Town === "Bath", "the town of the third brand");
  await small.page.getByLabel("Select all on this page").check();
  await small.page.getByLabel("Select Copperfield").uncheck();
  await small.button("Delete").click();
  await small.page.getByRole("listitem").filter({ hasText: "Alder & Co · ID 1" }).last().waitFor();
  await small.button("Cancel").click();
  await small.button("Clear selection").click();
  await small.page.getByLabel("Select Copperfield").check();
  await small.button("Delete").click();
  await small.page.getByRole("dialog").getByText("Copperfield · ID 3").waitFor();
  await small.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await small.page.getByText("Deleted “Copperfield”").waitFor();
  await small.page.getByRole("link", { name: "Copperfield" }).waitFor({ state: "hidden" });
  const first = small.page.locator("main li").first();
  expect(await small.page.getByLabel("Sort by").inputValue()).toBe("ID");
  await small.page.getByLabel("Sort by").selectOption("ID ↓");
  await first.getByText("Alder & Co").waitFor({ state: "hidden" });
  await small.button("Columns").click();
  await small.page.getByRole("menuitemcheckbox", { name: "County" }).waitFor();
  await small.page.keyboard.press("Escape");
  // The card opens the record wherever it's touched.
  const name = await first.getByRole("link").innerText();
  const { width, height } = (await first.boundingBox()) ?? { width: 0, height: 0 };
  await first.click({ position: { x: width - 4, y: height - 4 } });
  await small.page.getByRole("heading", { name }).waitFor();
  await small.finish();
});
