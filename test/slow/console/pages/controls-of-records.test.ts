// Uses every button and every choice of the frame, the overview, and the pages of records, history and imports once. The test before the last one
// names the buttons and choices that were shown and not used.

import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { publicResources } from "../../../../src/model/resource.ts";
import { allResources } from "../../../../src/resources/all.ts";
import {
  type ControlsPage,
  controlsOf,
  listUnusedOutsideSettings,
  useControls,
} from "../../../support/console/controls.ts";
import type { ConsolePage } from "../../../support/console/page.ts";
import type { Pressed } from "../../../support/console/pressed.ts";
import type { ConsoleClient } from "../../../support/console/server.ts";
import { readCells } from "../../../support/workbooks.ts";

setDefaultTimeout(120_000);

const resources = publicResources(allResources);
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const plurals = resources.map(({ plural }) => capitalize(plural));

let server: ControlsPage["server"];
let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
let pressed: Pressed;
let dialog: ReturnType<typeof controlsOf>["dialog"];
let chooseEach: ReturnType<typeof controlsOf>["chooseEach"];
let click: ReturnType<typeof controlsOf>["click"];
let choose: ReturnType<typeof controlsOf>["choose"];
let said: ReturnType<typeof controlsOf>["said"];
useControls((opened) => {
  ({ server, view, page, ben, pressed } = opened);
  ({ dialog, chooseEach, click, choose, said } = controlsOf(opened));
});

const get = async (path: string) => (await ben.call("GET", path)).json;

/** Chooses each option of a native list of the browser once, the first option last. @returns the names of the options */
async function chooseEachNative(label: string | RegExp): Promise<string[]> {
  const list = page.getByLabel(label).first();
  await list.waitFor();
  const names = await list.locator("option").allTextContents();
  for (const name of [...names.slice(1), names[0] as string]) await list.selectOption({ label: name });
  return names;
}

test("the frame has menus, a search, a choice of colours, and a list of shortcuts", async () => {
  for (const item of [
    ...plurals,
    "Import and export",
    "History",
    "API keys",
    "Webhooks",
    "Requests",
    "Sites",
    "People",
    "Overview",
  ]) {
    await view.follow(item);
    await page.locator("#main-content h1", { hasText: item }).waitFor();
  }
  await page.getByRole("button", { name: "Skip to content" }).focus();
  await page.keyboard.press("Enter");
  await click("Close menu");
  await click("Open menu");
  await click(/Find in all sites/);
  await page.getByLabel("Name, account number, code or ID").fill("Fernhill");
  await page.getByRole("link", { name: /^Fernhill/ }).click();
  await page.getByRole("heading", { name: "Fernhill" }).waitFor();
  await click("Close");
  await page.getByRole("combobox", { name: "Site" }).click();
  await page.getByRole("option", { name: "outlet" }).waitFor();
  await page.locator("header").getByRole("button", { name: "Close", exact: true }).click();
  await page.locator("header").getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("option", { name: "outlet" }).click();
  await page.waitForURL(/#\/outlet/);
  await page.getByRole("combobox", { name: "Site" }).fill("shop");
  await page.getByRole("option", { name: "shop" }).click();
  await page.waitForURL(/#\/shop/);
  const menu = async (item: string) => {
    await page.getByRole("button", { name: "anna", exact: true }).click();
    await page.getByRole("menuitem", { name: item, exact: true }).click();
  };
  for (const colours of ["Dark", "Light", "System theme"]) {
    await page.getByRole("button", { name: "anna", exact: true }).click();
    await page.getByRole("menuitemradio", { name: colours, checked: false }).click();
    await page.getByRole("menuitemradio", { name: colours, checked: true }).waitFor();
    await page.keyboard.press("Escape");
  }
  await menu("Keyboard shortcuts");
  await choose("Close");
  const licences = page.context().waitForEvent("page");
  await menu("Licences");
  await (await licences).close();
});

test("the numbers of the overview link to their pages, and the page of an empty site links to the first steps", async () => {
  for (const [name, path] of [...resources.map(({ plural, path }) => [plural, path]), ["active keys", "keys"]] as [
    string,
    string,
  ][]) {
    await view.show("shop");
    await page
      .getByRole("main")
      .getByRole("link", { name: new RegExp(`^[0-9]+ ${name}$`) })
      .click();
    await page.waitForURL(new RegExp(`#/shop/${path}$`));
  }
  await view.show("shop");
  await click(/^Created brand/);
  await click("Undo");
  await choose("Cancel");
  await page.getByRole("link", { name: "Open record" }).click();
  await view.field(/^Name/).waitFor();
  await page.goBack();
  await click(/^Created brand/);
  await page.getByRole("link", { name: "History of this record" }).click();
  await page.getByRole("button", { name: "Brand 70 only" }).waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "All changes" }).click();
  await page.waitForURL(/#\/shop\/history$/);
  await view.show("shop");
  await click("Last day");
  await page.getByText("0 in the last day").waitFor();
  await click("Last hour");
  await page.getByText("0 in the last hour").waitFor();
  // The state is that of its worst line: the site has records, and was never backed up.
  await page.getByRole("heading", { name: "1 thing needs attention" }).waitFor();
  await click(/^How to back up: No backups yet/);
  await page.getByText("storefront backup").waitFor();
  const guide = page.context().waitForEvent("page");
  await page.getByRole("link", { name: "Backup guide" }).click();
  await (await guide).close();
  await choose("Close");
  await page.getByRole("link", { name: "Latest requests" }).click();
  await page.waitForURL(/#\/shop\/requests$/);
  for (const [name, path] of [
    ["Import", "import"],
    ["API keys", "keys"],
    ["Webhooks", "webhooks"],
  ] as const) {
    await view.show("outlet");
    await page.getByRole("main").getByRole("link", { name, exact: true }).click();
    await page.waitForURL(new RegExp(`#/outlet/${path}`));
  }
  await view.show("outlet/brands");
  for (const [name, path] of [
    ["New brand", "brands/create"],
    ["Import", "import"],
  ] as const) {
    await page.getByRole("main").getByRole("link", { name, exact: true }).last().click();
    await page.waitForURL(new RegExp(`#/outlet/${path}`));
    await view.show("outlet/brands");
  }
});

test("a table can be searched and sorted, and has columns, pages, views and a selection to choose", async () => {
  await view.show("shop/brands");
  await view.field("Search").fill("nothing at all");
  await page.getByText("No brands match").waitFor();
  await click("Clear search");
  await view.field("Search").fill("Zeta 59");
  // The records match by the name, or by the name and the ID.
  await page.getByText("1–2 of 2").waitFor();
  // A page beyond those of the search.
  await view.show("shop/brands?page=3");
  await page.getByText("51–70 of 70").waitFor();
  await page.goBack();
  await page.getByText("1–2 of 2").waitFor();
  await click("Clear search");
  await click("Go to next page");
  await page.getByText("26–50 of 70").waitFor();
  await click("Go to previous page");
  await page.getByText("1–25 of 70").waitFor();
  expect(await chooseEachNative("Rows per page")).toEqual(["10", "25", "50", "100"]);
  await page.getByText("1–10 of 70").waitFor();
  // The page has ten rows, because every choice draws each cell again.
  await click("Columns");
  const items = page.getByRole("menuitemcheckbox");
  await items.first().waitFor();
  for (const item of await items.all()) await item.click();
  for (const item of await items.all()) if ((await item.getAttribute("aria-checked")) === "false") await item.click();
  await page.keyboard.press("Escape");
  const headers = await page.getByRole("columnheader").getByRole("button").all();
  for (const header of headers) {
    const before = page.url();
    await header.click();
    await page.waitForURL((url) => url.href !== before);
  }
  expect(headers.length).toBeGreaterThan(10);
  await page.getByRole("button", { name: "Sort by ID (ascending)" }).click();
  await page.getByRole("columnheader").getByRole("checkbox").check();
  await page.getByText("10 selected").waitFor();
  await click("Select all 70");
  await page.getByText("70 selected").waitFor();
  await click("Clear selection");
  await page.getByRole("row").nth(2).getByRole("checkbox").check();
  await click("Delete");
  await choose("Cancel");
  await click("Edit a field");
  expect(await chooseEachNative(/^Field$/)).toContain("Town");
  await page.getByLabel(/^Field$/).selectOption("County");
  await dialog().getByLabel("New value").fill("Avon");
  await choose("Update 1 brand");
  await said("Saved");
  await page.getByRole("row").nth(2).getByRole("checkbox").check();
  await click("Clear selection");
});

test("all records, those found, or those selected are exported in the list's order", async () => {
  const download = async (item: string) => {
    await click("Export");
    const link = page.getByRole("menuitem", { name: item, exact: true });
    const [file] = await Promise.all([page.waitForEvent("download"), link.click()]);
    return Bun.file(await file.path());
  };
  const exported = async (what: string) => {
    const [, ...lines] = (await (await download(`${what} (CSV)`)).text()).trim().split("\r\n");
    const [, ...rows] = await readCells(await (await download(`${what} (Excel)`)).bytes());
    const ids = rows.map(([id]) => Number(id));
    expect(lines.map((line) => Number.parseInt(line, 10))).toEqual(ids);
    return ids;
  };
  await view.show("shop/brands?sort=-ID");
  const all = await exported("All brands");
  expect(all).toEqual(Array.from(all, (_, index) => Number(all[0]) - index));
  await view.show("shop/brands?search=zeta&sort=-ID");
  const found = (await get("/sites/shop/records/brands?search=zeta&sort=ID&order=desc&limit=100")).records;
  const ids: number[] = found.map(({ record }: { record: { ID: number } }) => record.ID);
  expect(await exported(`${ids.length} found`)).toEqual(ids);
  for (const row of [3, 2]) await page.getByRole("row").nth(row).getByRole("checkbox").check();
  expect(await exported("2 selected")).toEqual(ids.slice(1, 3));
  await click("Clear selection");
});

test("a view is saved with a name, chosen by its name or by its address, and removed", async () => {
  await view.show("shop/brands?search=zeta&sort=-ID");
  const address = page.url();
  await click("Views");
  await page.getByRole("menuitem", { name: "Save view" }).click();
  await dialog().getByLabel("View name").fill("Zetas");
  await choose("Save");
  await click("Zetas");
  await page.getByRole("menuitem", { name: "All brands" }).click();
  await page.getByText("1–10 of 70").waitFor();
  await click("Views");
  await page.getByRole("menuitem", { name: "Zetas", exact: true }).click();
  await page.getByText("1–10 of 60").waitFor();
  expect(page.url()).toBe(address);
  await page.goBack();
  await page.getByText("1–10 of 70").waitFor();
  await page.goForward();
  await click("Zetas");
  await page.getByRole("menuitem", { name: "Remove view “Zetas”" }).click();
  await view.button("Views").waitFor();
});

test("a record is created, changed, shown with its history, restored and deleted, and its deletion is undone", async () => {
  await view.show("shop/brands?sort=-ID&rows=10");
  await page.getByRole("link", { name: "New brand" }).click();
  await view.field(/^Name/).fill("Zeta 100");
  await view.field("County").fill("Typed by mistake");
  await view.field("County").fill("");
  await click("Save");
  await said("Created");
  await view.field(/^Name/).waitFor({ state: "hidden" });
  await page.getByRole("link", { name: "Zeta 100" }).click();
  await page.waitForURL(/brands\/71(\?|$)/);
  await page.getByRole("heading", { name: "Zeta 100" }).waitFor();
  for (const field of await page.locator(".MuiDrawer-root input").all()) {
    const name = await field.getAttribute("name");
    await field.fill(
      name === "Name"
        ? "Zeta 101"
        : name?.endsWith("Country")
          ? "GB"
          : name?.endsWith("Email")
            ? "zeta@example.com"
            : "7",
    );
  }
  await click("Save");
  await said("Saved");
  await view.field(/^Name/).waitFor({ state: "hidden" });
  expect(await get("/sites/shop/records/brands/71")).toMatchObject({
    record: { Name: "Zeta 101", Address: { Town: "7", Country: "GB" } },
  });
  await view.show("shop/brands/71");
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("checkbox", { name: /^Compare: Changed brand/ }).check();
  await click("Compare with current");
  await choose("Close");
  await page.getByRole("checkbox", { name: /^Compare: Created brand/ }).check();
  await page.getByRole("checkbox", { name: /^Compare: Changed brand/ }).check();
  await click("Compare");
  await dialog().getByLabel("Only show differences").check();
  await dialog()
    .getByRole("button", { name: /^Restore the version from/ })
    .click();
  await said("Restored");
  expect(await get("/sites/shop/records/brands/71")).toMatchObject({ record: { Name: "Zeta 100" } });
  await page.getByRole("checkbox", { name: /^Compare: Created brand/ }).check();
  await click("Clear selection");
  await click(/^Changed brand Zeta 101/);
  await click("Restore this version");
  await page
    .getByRole("button", { name: /^Changed brand Zeta 101/ })
    .nth(1)
    .waitFor();
  expect(await get("/sites/shop/records/brands/71")).toMatchObject({ record: { Name: "Zeta 101" } });
  await page.locator(".MuiDrawer-root").getByRole("button", { name: "Undo", exact: true }).first().click();
  await choose("Cancel");
  await page.getByRole("tab", { name: "Details" }).click();
  await click("Delete");
  await choose("Delete");
  await said("Deleted “Zeta 101”");
  expect((await ben.call("GET", "/sites/shop/records/brands/71")).status).toBe(404);
  await page.getByRole("alert").getByRole("button", { name: "Undo" }).click();
  await said("Undone");
  expect(await get("/sites/shop/records/brands/71")).toMatchObject({ record: { Name: "Zeta 101" } });
  // A later import matches another brand by this number.
  await ben.change("/sites/shop/records/brands", 71, { AccountNumber: "" });
});

test("the history is filtered by day, resource, kind and person in its address, shows earlier changes, and undoes changes", async () => {
  await view.show("shop/history");
  expect(await chooseEach("Records")).toEqual(["All records", ...plurals]);
  expect(await chooseEach("Type of change")).toEqual(["All changes", "Created", "Changed", "Deleted"]);
  for (const preset of ["Today", "Yesterday", "Last 7 days", "Last month"]) await click(preset);
  await page.getByText("Nothing matches these filters").waitFor();
  const [, from = "", to = ""] = /from=(\d{4}-\d\d-01)&to=(\d{4}-\d\d-\d\d)$/.exec(page.url()) ?? [];
  expect([
    from < to,
    await page.getByLabel("From").inputValue(),
    await page.getByLabel("To", { exact: true }).inputValue(),
  ]).toEqual([true, from, to]);
  await click("Last month");
  await page.getByLabel("From").fill("2999-01-01");
  await page.getByLabel("To", { exact: true }).fill("2999-01-02");
  await click("Clear filters");
  await view
    .button(/^Created brand/)
    .first()
    .waitFor();
  // The back button returns to the filters.
  await page.goBack();
  await page.waitForURL(/from=2999-01-01&to=2999-01-02$/);
  await click("Clear filters");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download as CSV" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("shop-history.csv");
  await click("Show earlier ones");
  await view.settled();
  await page.getByRole("combobox", { name: "By" }).click();
  await page.getByRole("option", { name: "ben" }).click();
  await page.getByText("anna ·").first().waitFor({ state: "hidden" });
  await view.settled();
  await click(/^Created brand Zeta 59/);
  await page.getByRole("link", { name: "Open record" }).click();
  await view.field(/^Name/).waitFor();
  await page.goBack();
  await click(/^Created brand Zeta 59/);
  await click("Undo");
  await choose("Cancel");
  await click("Undo");
  await dialog().getByText("1 record will be deleted.").waitFor();
  await choose("Undo");
  await said("Changes to 1 record undone");
  await page.getByRole("alert").getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("combobox", { name: "By" }).click();
  await click("Clear");
  await page.keyboard.press("Escape");
});

test("two moments of a record are compared, also with now, and one of them is restored", async () => {
  await ben.change("/sites/shop/records/brands", 3, { Name: "Copperfield & Son", Address: { Town: "Bath" } });
  await ben.change("/sites/shop/records/brands", 3, { AccountNumber: "C-3" });
  await view.show("shop/history?resource=brands&kind=update");
  await click(/^Changed brand Copperfield/);
  await page.getByRole("link", { name: "History of this record" }).click();
  await page.waitForURL(/resource=brands&id=3$/);
  const moments = page.getByRole("checkbox", { name: /^Compare: / });
  await moments.last().check();
  await click("Compare with current");
  const cells = async () => (await dialog().getByRole("row").allInnerTexts()).slice(1).map((row) => row.split("\t"));
  await dialog().getByRole("table").waitFor();
  expect(await cells()).toEqual([
    ["Name · differs", "Copperfield", "Copperfield & Son"],
    ["Account number · differs", "(empty)", "C-3"],
    ["Town · differs", "(empty)", "Bath"],
  ]);
  await choose("Close");
  for (const index of [0, 1]) await moments.nth(index).check();
  await click("Clear selection");
  for (const index of [2, 0, 1]) await moments.nth(index).check();
  // A third tick replaces the first one.
  expect(await moments.last().isChecked()).toBe(false);
  await click("Compare");
  await dialog().getByRole("table").waitFor();
  expect(await cells()).toHaveLength(3);
  await dialog().getByLabel("Only show differences").check();
  expect(await cells()).toEqual([["Account number · differs", "(empty)", "C-3"]]);
  expect(
    await dialog()
      .getByRole("button", { name: /^Restore the version from/ })
      .count(),
  ).toBe(1);
  await dialog()
    .getByRole("button", { name: /^Restore the version from/ })
    .click();
  await said("Restored");
  expect((await ben.call("GET", "/sites/shop/records/brands/3")).json.record).toMatchObject({
    AccountNumber: "",
    Address: { Town: "Bath" },
  });
  await page.getByRole("button", { name: /^Brand 3 only/ }).press("Delete");
  await page.waitForURL(/history\?resource=brands$/);
});

test("an import has choices for its file, mapping and rows, and can be undone; records can be exported", async () => {
  await view.show("shop/import");
  expect(await chooseEachNative("Import into")).toEqual(plurals);
  expect(await chooseEachNative("Records")).toEqual(plurals);
  for (const format of ["XLSX", "CSV", "JSON", "XML"]) {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: `Export as ${format}` }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(new RegExp(`^shop-brands-[-0-9]{10}\\.${format.toLowerCase()}$`));
  }
  await page.getByRole("button", { name: "Choose a file" }).waitFor();
  const text = "Vendor;Number;Town\r\nNew name;7;Oslo\r\nZeta 1;8;Bergen\r\nZeta 2;;Hamar\r\n;;Nowhere\r\n";
  await ben.change("/sites/shop/records/brands", 12, { AccountNumber: "7" });
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), click("Choose a file")]);
  await chooser.setFiles({ name: "supplier.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  expect(await chooseEachNative("Encoding")).toContainValues(["utf-8", "shift_jis", "windows-1251"]);
  await page.getByLabel("Encoding").selectOption("utf-8");
  expect(await chooseEachNative("Column separator")).toHaveLength(4);
  await page.getByLabel("Column separator").selectOption("Semicolon");
  await page.getByRole("radio", { name: /^None/ }).check();
  await page.getByLabel("Field for Column A").waitFor();
  await page.getByRole("radio", { name: "Row 1: Vendor, Number, Town" }).check();
  await page.getByLabel("Field for Number").waitFor();
  expect(await page.getByLabel("Field for Number").locator("option").count()).toBe(16);
  await page.getByLabel("Field for Vendor").selectOption("Name");
  await page.getByLabel("Field for Town").selectOption("Address.Town");
  await page.getByLabel("Field for Number").selectOption("AccountNumber");
  expect(await chooseEachNative("Match existing records by")).toEqual([
    "Don’t match (create new records)",
    "Name",
    "Account number",
    "Town",
  ]);
  const [mapping] = await Promise.all([page.waitForEvent("download"), click("Save mapping")]);
  const [loader] = await Promise.all([page.waitForEvent("filechooser"), click("Load mapping")]);
  await loader.setFiles(await mapping.path());
  await page.getByLabel("Match existing records by").selectOption("Account number");
  const remove = page.getByLabel("Also delete brands that aren’t in this file");
  await remove.check();
  await remove.uncheck();
  await click("Check");
  // The match is by the number, not by the name.
  await click("1 changed");
  await page.getByText("New name").first().waitFor();
  await click("1 new");
  await page.getByLabel("Select row 3 Zeta 1").uncheck();
  await view.button("Import 1 row").waitFor();
  await page.getByLabel("Select all on this page").check();
  await click("0 unchanged");
  await click("2 rejected");
  await click("Back");
  await click("Check");
  await click("Import 2 rows");
  await page.getByText("1 created, 1 changed, 0 unchanged, 2 rejected").waitFor();
  expect(await get("/sites/shop/records/brands/12")).toMatchObject({ record: { Name: "New name" } });
  await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download rejected rows" }).click(),
  ]);
  await click("Undo this import");
  await choose("Cancel");
  await click("Undo this import");
  await choose("Undo");
  await page.getByText("Import undone").waitFor();
  expect(await get("/sites/shop/records/brands/12")).toMatchObject({ record: { Name: "Zeta 1" } });
  await click("Choose another file");
  await page.getByText("Drop a file here").waitFor();
});

test("no other button or choice was shown", async () => {
  // Buttons that are visible only for a moment, that were pressed with another number in their name, or that the next test presses.
  const excepted = [
    "Import and export: Stop",
    "Import and export: Import 0 row",
    "Menu: Profile",
    // audit-log.test.ts opens it.
    "Audit log",
    "Menu: Sign out",
    "Menu: Sign out of all devices",
  ];
  // The tables of the other resources have other columns, each column of a file has the same fields, of which one was chosen, and each row can be the header.
  const isOther = (name: string) =>
    excepted.includes(name) || /^(?:Records: Sort by|Import and export: (?:Field for|Row)) /.test(name);
  expect((await listUnusedOutsideSettings(pressed)).filter((name) => !isOther(name))).toEqual([]);
});

test("an operator signs out on all devices, and in one browser", async () => {
  for (const item of ["Sign out of all devices", "Sign out"]) {
    await page.getByRole("button", { name: "anna", exact: true }).click();
    await page.getByRole("menuitem", { name: item, exact: true }).click();
    await view.field("Link").fill(await server.link("anna"));
    await click("Sign in");
    await page.locator("#main-content").waitFor();
  }
});
