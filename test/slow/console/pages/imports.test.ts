// The page for imports in a real browser, from the choice of the file to the undo, at desktop and phone width.

import { afterAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { findings } from "../../../support/console/axe.ts";
import { drawn, openBrowser, openPage } from "../../../support/console/browser.ts";
import { startTestConsole } from "../../../support/console/server.ts";
import { waitUntil } from "../../../support/time.ts";
import { toWorkbook } from "../../../support/workbooks.ts";

const server = await startTestConsole();
const anna = await server.signIn("anna");
const browser = await openBrowser();
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const file = {
  name: "supplier.csv",
  mimeType: "text/csv",
  buffer: Buffer.from(
    "\ufeffVendor;Town;Ctry;Remark\r\nAcme;Oslo;;\r\n<script>alert(1)</script>;Bergen;NO;\r\nLeft out;Hamar;;\r\nFar away;Nowhere;Germany;late\r\n",
  ),
};

/** An expression for the data of a drop of a file. */
const transferOf = ({ name, mimeType, buffer }: typeof file) => `(() => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([${JSON.stringify(String(buffer))}], "${name}", { type: "${mimeType}" }));
  return transfer;
})()`;

/** Drops a text on the area for files, which sends nothing, and then the file. The area has another border only during the drag. */
async function dropTextAndFile(page: Page): Promise<void> {
  const area = page.getByText("Drop a file here").locator("..");
  const border = () =>
    area.evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).borderColor);
  const usual = await border();
  const text = await page.evaluateHandle("new DataTransfer()");
  await area.dispatchEvent("dragover", { dataTransfer: text });
  await waitUntil(async () => (await border()) !== usual, "another border");
  await area.dispatchEvent("drop", { dataTransfer: text });
  await waitUntil(async () => (await border()) === usual, "the usual border");
  await area.dispatchEvent("drop", { dataTransfer: await page.evaluateHandle(transferOf(file)) });
}

/** Returns the chosen field of each column of the file. */
async function fieldsOf(page: Page): Promise<Record<string, string>> {
  const choices = await page.getByLabel(/^Field for /).all();
  const entries = choices.map(async (choice) => [
    (await choice.getAttribute("aria-label"))?.slice("Field for ".length) ?? "",
    await choice.inputValue(),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns whether the page scrolls sideways. */
const isTooWide = (page: Page) => page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth");

const names = async () =>
  (await anna.call("GET", "/sites/shop/records/brands")).json.records.map(
    ({ record }: { record: { Name: string } }) => record.Name,
  );

describe.each([
  ["desktop", 1280, 800],
  ["phone", 375, 700],
] as const)("on a %s", (_, width, height) => {
  test("a supplier's file is mapped, checked and imported without one row, and the import is undone", async () => {
    const { call } = anna;
    const acme = (await call("POST", "/sites/shop/records/brands", { Name: "Acme" })).json.record.ID;
    const { page, errors, foreignRequests } = await openPage(browser, server.adminUrl, width, height);
    await page.goto(await server.link("anna"));
    // The console opens the first site.
    await page.waitForURL(/#\/shop$/);
    await page.goto(`${server.adminUrl}/#/shop/import`);
    await page.getByText("Drop a file here").waitFor();
    expect(await isTooWide(page)).toBe(false);
    await page.locator("input[type=file]").setInputFiles(file);

    await page.getByText("Match your columns to fields.").waitFor();
    expect(await fieldsOf(page)).toEqual({ Vendor: "Name", Town: "Address.Town", Ctry: "Address.Country", Remark: "" });
    expect(await page.getByText("suggested").count()).toBe(2);
    await page.getByText("Acme · <script>alert(1)</script>").waitFor();
    await page.getByText("Not imported: Remark").waitFor();
    const match = page.getByLabel("Match existing records by");
    expect(await match.inputValue()).toBe("Name");
    // A field has one column, and a check needs a field.
    await page.getByLabel("Field for Remark").selectOption("Name");
    expect((await fieldsOf(page)).Vendor).toBe("");
    for (const name of ["Town", "Ctry", "Remark"]) await page.getByLabel(`Field for ${name}`).selectOption("");
    await page.getByText("No column is mapped to Name.").waitFor();
    const checkButton = page.getByRole("button", { name: "Check" });
    expect(await checkButton.isDisabled()).toBe(true);
    const reason = await checkButton.getAttribute("aria-describedby");
    expect(await page.locator(`[id="${reason}"]`).innerText()).toBe("Map at least one column to a field first.");
    await page.getByLabel("Field for Vendor").selectOption("Name");
    await page.getByLabel("Field for Town").selectOption("Address.Town");
    await page.getByLabel("Field for Ctry").selectOption("Address.Country");
    expect(await page.getByText("suggested").count()).toBe(0);
    expect(await isTooWide(page)).toBe(false);
    await page.getByRole("button", { name: "Check" }).click();

    await page.getByRole("button", { name: "2 new" }).click();
    await page.getByText("<script>alert(1)</script>").first().waitFor();
    await page.getByLabel("Select row 4 Left out").uncheck();
    await page.getByRole("button", { name: "1 changed" }).click();
    await page.locator("ins", { hasText: "Oslo" }).waitFor();
    await page.getByRole("button", { name: "1 rejected" }).click();
    await page.getByText("Germany: Use a country code of 2 or 3 letters, such as DE for Germany.").waitFor();
    await page.getByText("Far away").waitFor();
    expect(await names()).toEqual(["Acme"]);
    expect(await isTooWide(page)).toBe(false);
    await page.getByRole("button", { name: "Import 2 rows" }).click();

    await page.getByText("1 created, 1 changed, 0 unchanged, 1 rejected").waitFor();
    expect(await names()).toEqual(["Acme", "<script>alert(1)</script>"]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download rejected rows" }).click(),
    ]);
    expect(await Bun.file(await download.path()).text()).toContain(";Nowhere;Germany");
    expect(await isTooWide(page)).toBe(false);
    await page.getByRole("button", { name: "Undo this import" }).click();
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByRole("alert").getByText("Import undone").waitFor();
    expect(await names()).toEqual(["Acme"]);
    await page.reload();
    await page.getByRole("alert").getByText("1 brand restored to its earlier values").waitFor();
    await page.getByRole("alert").getByText("1 brand deleted").waitFor();
    expect(await page.getByText("Import complete").or(page.getByText("Undo this import")).count()).toBe(0);

    await page.getByRole("button", { name: "Choose another file" }).click();
    await dropTextAndFile(page);
    await page.getByText("Using the mapping from your last import.").waitFor();
    expect((await fieldsOf(page)).Vendor).toBe("Name");
    const [loader] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Load mapping" }).click(),
    ]);
    const mapping = Buffer.from(JSON.stringify({ fields: { Name: "Vendor", "Address.Town": "Twon" } }));
    await loader.setFiles({ name: "mapping.json", mimeType: "application/json", buffer: mapping });
    await page.getByRole("button", { name: "Check" }).click();
    const fault = page.getByRole("alert").filter({ hasText: "Address.Town" });
    await fault.waitFor();
    expect(await fault.innerText()).toBe("Address.Town: The file has no column “Twon”; did you mean “Town”?");
    await call("DELETE", "/sites/shop/records/brands", { ids: [acme] });
    expect([errors, foreignRequests]).toEqual([[], []]);
    await page.context().close();
  });
});

/** Cancels an upload, sends another file, and checks that the page still shows the other one when the first upload has ended. */
async function cancelUpload(page: Page): Promise<void> {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const waits = [first.promise, second.promise];
  await page.route("**/parts/*", async (route) => {
    await waits.shift();
    await route.continue();
  });
  const choose = (name: string) => page.locator("input[type=file]").setInputFiles({ ...file, name });
  await choose("first.csv");
  await page.getByText("Uploading first.csv").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  const sent = page.waitForRequest((request) => request.url().includes("/parts/"));
  await choose("second.csv");
  await sent;
  const removed = page.waitForResponse((response) => response.request().method() === "DELETE");
  first.resolve();
  await removed;
  await drawn(page);
  expect(await page.getByText("Uploading second.csv").count()).toBe(1);
  second.resolve();
  await page.getByRole("button", { name: "Choose another file" }).click();
  await page.getByText("Drop a file here").waitFor();
  await page.unroute("**/parts/*");
}

/** Opens the page of imports. */
async function openImports(width: number, height: number) {
  const opened = await openPage(browser, server.adminUrl, width, height);
  const { page } = opened;
  // Colours that are changing would fail the check of contrast.
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto(await server.link("anna"));
  await page.waitForURL(/#\/shop$/);
  await page.goto(`${server.adminUrl}/#/shop/import`);
  const choose = (name: string, content: Uint8Array | string) =>
    page.locator("input[type=file]").setInputFiles({ name, mimeType: "", buffer: Buffer.from(content) });
  await page.getByText("Drop a file here").waitFor();
  return { ...opened, choose };
}

describe.each([
  ["desktop", 1280, 800],
  ["phone", 375, 700],
] as const)("the header row, on a %s", (_, width, height) => {
  const titled = "Price list, May\r\n\r\nVendor;Town;Town;\r\nAcme;Oslo;Hamar;7\r\nBest;Bergen;;8\r\n";

  test("is guessed, and chosen with a click or the arrow keys; columns in both keep their fields", async () => {
    const { page, errors, choose } = await openImports(width, height);
    await choose("titled.csv", titled);
    const header = page.getByRole("radio", { name: "Row 3: Vendor, Town, Town" });
    await header.waitFor();
    expect(await header.isChecked()).toBe(true);
    expect(await fieldsOf(page)).toMatchObject({ Vendor: "Name", "Column D": "" });
    expect(await isTooWide(page)).toBe(false);
    expect(await findings(page)).toEqual([]);
    await page.getByLabel("Field for Vendor").selectOption("Address.Surname");
    await page.getByLabel("Field for Town (column C)").selectOption("Address.County");
    await page.getByLabel("Field for Column D").selectOption("AccountNumber");
    await page.getByRole("cell", { name: "Acme", exact: true }).first().click();
    await page.getByLabel("Field for Oslo").waitFor();
    expect(await fieldsOf(page)).toEqual({ Acme: "", Oslo: "", Hamar: "", 7: "" });
    await page.getByRole("radio", { name: "Row 4: Acme, Oslo, Hamar, 7" }).press("ArrowUp");
    await page.getByLabel("Field for Vendor").waitFor();
    expect(await header.and(page.locator(":focus")).isChecked()).toBe(true);
    await page.getByRole("radio", { name: /^None/ }).check();
    await page.getByLabel("Field for Column A").selectOption("Name");
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Check" }).click();
    await page.locator("ins", { hasText: "Price list, May" }).waitFor();
    await page.getByRole("button", { name: "Back" }).click();
    expect(await page.getByRole("radio", { name: /^None/ }).isChecked()).toBe(true);
    expect((await fieldsOf(page))["Column A"]).toBe("Name");
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

test("a sheet of an Excel workbook is imported, and records that it lacks are removed after their number was typed", async () => {
  for (const Name of ["Acme", "Best", "Cube"]) await anna.call("POST", "/sites/shop/records/brands", { Name });
  const { page, errors, foreignRequests, choose } = await openImports(1280, 800);
  await choose("brands.xlsx", "PK\x03\x04 is the beginning of an archive, and this is not its end");
  await page.getByRole("alert").filter({ hasText: "Try again" }).waitFor();
  await page.getByRole("button", { name: "Choose another file" }).click();
  await cancelUpload(page);
  const rows = [
    ["Brand name", "Acct no"],
    ["Acme", "0042"],
    ["Cube", 1e15],
  ];
  await choose("brands.xlsx", toWorkbook({ Remarks: [["x"], ["y"]], Brands: rows }));
  await page.getByLabel("Sheet").selectOption({ label: "Brands" });
  await page.getByLabel("Field for Acct no").waitFor();
  expect(await page.getByLabel("Encoding").or(page.getByLabel("Column separator")).count()).toBe(0);
  await page.getByLabel("Also delete brands that aren’t in this file").check();
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByRole("button", { name: "1 with warnings" }).waitFor();
  await page.getByRole("button", { name: "2 changed" }).click();
  await page.getByText("1000000000000000", { exact: true }).waitFor();
  await page.getByRole("button", { name: "1 not in the file" }).click();
  await page.getByText("Not in the file: 1 of 3 brands").waitFor();
  await page.locator("del", { hasText: "Best" }).waitFor();
  const start = page.getByRole("button", { name: "Import 2 rows, delete 1" });
  await start.click();
  await page.getByLabel("Type 1 to confirm").press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await start.and(page.locator(":focus")).waitFor();
  await start.click();
  const dialog = page.getByRole("dialog", { name: "Delete 1 of 3 brands?" });
  const confirm = dialog.getByRole("button", { name: "Import and delete" });
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByLabel("Type 1 to confirm").fill("1");
  await confirm.click();
  await page.getByText("1 record deleted").waitFor();
  expect(await names()).toEqual(["Acme", "Cube"]);
  await page.getByRole("button", { name: "Undo this import" }).click();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.getByRole("alert").getByText("Import undone").waitFor();
  expect(await names()).toEqual(["Acme", "Best", "Cube"]);
  // The preview of the damaged file.
  expect([errors, foreignRequests]).toEqual([[expect.stringContaining("400")], []]);
  await page.context().close();
});

test("values that a field doesn't accept are replaced, and the mapping remembers them for the next file", async () => {
  const { page, errors, choose } = await openImports(375, 700);
  const rows = [
    ["Vendor", "Ctry"],
    ["Repaired", "Germany"],
    ["Valid", "NO"],
    ["Unknown", "Narnia"],
    ["Valid", "SE"],
  ];
  await choose("values.xlsx", toWorkbook({ Values: rows }));
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("Germany: Use a country code").waitFor();
  expect(await page.getByLabel("Import Germany as").inputValue()).toBe("DE");
  expect(await page.getByLabel("Import Narnia as").inputValue()).toBe("");
  expect(await findings(page)).toEqual([]);
  expect(await isTooWide(page)).toBe(false);
  await page.getByRole("button", { name: "1 with warnings" }).click();
  await page.getByText("Name: Row 3 has the same value").waitFor();
  await page.getByRole("button", { name: "2 rejected" }).click();
  await page.getByLabel("Import Narnia as").fill("Cair Paravel");
  await page.getByRole("button", { name: "Use these" }).click();
  await page.getByRole("alert").getByText("Narnia").waitFor();
  await page.getByLabel("Import Narnia as").fill("");
  await page.getByRole("button", { name: "Use these" }).click();
  await page.getByText("Germany: Use a country code").waitFor({ state: "hidden" });
  await page.getByText("Narnia: Use a country code").waitFor();
  await page.getByRole("button", { name: "2 new" }).click();
  await page.locator("ins", { hasText: "DE" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "1 rejected" }).click();
  await page.getByRole("button", { name: "Import 3 rows" }).click();
  const [rejected] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download rejected rows" }).click(),
  ]);
  expect(rejected.suggestedFilename()).toBe("rejected.xlsx");
  await page.getByRole("button", { name: "Choose another file" }).click();
  await choose("next.csv", "Vendor,Ctry\nNext,Germany\n");
  await page.getByText("Using the mapping from your last import.").waitFor();
  await page.getByRole("button", { name: "Check" }).click();
  await page.locator("ins", { hasText: "DE" }).waitFor();
  // The check with a value that isn't a country's code.
  expect(errors).toEqual([expect.stringContaining("400")]);
  await page.context().close();
});
