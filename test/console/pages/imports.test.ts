// The page for imports in a real browser, from the choice of the file to the undo, at desktop and phone width.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openPage } from "../../support/console/browser.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { waitUntil } from "../../support/time.ts";

let server: TestConsole;
let browser: Browser;
let anna: ConsoleClient;
beforeAll(async () => {
  server = await startTestConsole();
  anna = await server.signIn("anna");
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const file = {
  name: "supplier.csv",
  mimeType: "text/csv",
  buffer: Buffer.from(
    "\ufeffVendor;Town\r\nAcme;Oslo\r\n<script>alert(1)</script>;Bergen\r\nLeft out;Hamar\r\n;Nowhere\r\n",
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
    // The console opens the first shop.
    await page.waitForURL(/#\/shop$/);
    await page.goto(`${server.adminUrl}/#/shop/import`);
    await page.getByText("Drop a file here").waitFor();
    expect(await isTooWide(page)).toBe(false);
    await page.locator("input[type=file]").setInputFiles(file);

    await page.getByText("Choose which column of the file becomes which field.").waitFor();
    await page.getByLabel("Name *", { exact: true }).selectOption("Vendor");
    await page.getByText("for example Acme").waitFor();
    expect(await page.getByLabel("Address: town").inputValue()).toBe("Town");
    expect(await page.getByLabel("Find the record to change by").inputValue()).toBe("Name");
    expect(await isTooWide(page)).toBe(false);
    await page.getByRole("button", { name: "Check" }).click();

    await page.getByRole("button", { name: "2 new" }).waitFor();
    await page.getByText("<script>alert(1)</script>").first().waitFor();
    await page.getByLabel("Import row 4").uncheck();
    await page.getByRole("button", { name: "1 changed" }).click();
    await page.getByText("Oslo").waitFor();
    await page.getByRole("button", { name: "1 rejected" }).click();
    await page.getByText("is empty, so no record can be matched by it").waitFor();
    expect(await names()).toEqual(["Acme"]);
    expect(await isTooWide(page)).toBe(false);
    await page.getByRole("button", { name: "Import 2 rows" }).click();

    await page.getByText("1 created, 1 changed, 0 unchanged, 1 rejected").waitFor();
    expect(await names()).toEqual(["Acme", "<script>alert(1)</script>"]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Rejected rows as a file" }).click(),
    ]);
    expect(await Bun.file(await download.path()).text()).toContain(";Nowhere");
    expect(await isTooWide(page)).toBe(false);
    await page.getByRole("button", { name: "Undo this import" }).click();
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByRole("alert").getByText("The import was undone").waitFor();
    expect(await names()).toEqual(["Acme"]);
    await page.reload();
    await page.getByRole("alert").getByText("2 records are as before").waitFor();
    expect(await page.getByText("The import is done").or(page.getByText("Undo this import")).count()).toBe(0);

    await page.getByRole("button", { name: "Another file" }).click();
    await dropTextAndFile(page);
    await page.getByText("The mapping of your last import is used.").waitFor();
    expect(await page.getByLabel("Name *", { exact: true }).inputValue()).toBe("Vendor");
    const [loader] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Load a mapping" }).click(),
    ]);
    const mapping = Buffer.from(JSON.stringify({ fields: { Name: "Vendor", "Address.Town": "Twon" } }));
    await loader.setFiles({ name: "mapping.json", mimeType: "application/json", buffer: mapping });
    await page.getByRole("button", { name: "Check" }).click();
    const fault = page.getByRole("alert").filter({ hasText: "Address.Town" });
    await fault.waitFor();
    expect(await fault.innerText()).toBe("Address.Town: the file has no column `Twon`; did you mean `Town`?");
    await call("DELETE", "/sites/shop/records/brands", { ids: [acme] });
    expect([errors, foreignRequests]).toEqual([[], []]);
    await page.context().close();
  }, 60_000);
});
