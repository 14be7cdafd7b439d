// Every form asks before unsaved changes are lost, and only then.

import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { ConsolePage } from "../../../support/console/page.ts";
import { useSitePage } from "../../../support/console/use-console.ts";

let view: ConsolePage;
let page: Page;
useSitePage((opened) => {
  ({ view, page } = opened);
});

const question = () => page.getByRole("dialog", { name: "Discard your changes?" });
async function answer(name: string): Promise<void> {
  await question().getByRole("button", { name }).click();
  await question().waitFor({ state: "hidden" });
}

/** A form: its page, the button that opens it or the menu of its row, and a field. */
const forms: [name: string, path: string, opener: string | undefined, field: RegExp][] = [
  ["a record", "shop/brands/3", undefined, /^Name/],
  ["a new record", "shop/locations/create", undefined, /^Name/],
  ["a new key", "shop/keys", "Create key", /^Name/],
  ["a key", "shop/keys", "Actions for", /^Name/],
  ["a new site", "shop/sites", "Add site", /^Hostnames/],
  ["a site", "shop/sites", "Actions for outlet", /^Hostnames/],
  ["a new operator", "shop/operators", "Add operator", /^Name/],
  ["a new webhook", "shop/webhooks", "Add webhook", /^URL/],
];

describe.each(forms)("the form of %s", (_, path, opener, field) => {
  const open = async () => {
    await view.show("shop/history");
    await view.show(path);
    if (opener) await page.getByRole("button", { name: opener }).first().click();
    if (opener?.startsWith("Actions")) await page.getByRole("menuitem", { name: "Edit", exact: true }).click();
    await view.field(field).waitFor();
  };

  test("closes without a question if its values are unchanged, also after a change was reverted", async () => {
    await open();
    const before = await view.field(field).inputValue();
    await view.field(field).fill("something");
    await view.field(field).fill(before);
    await page.keyboard.press("Escape");
    await view.field(field).waitFor({ state: "hidden" });
    expect(await question().count()).toBe(0);
  });

  test("asks before Escape, the back button or closing the tab discards changes", async () => {
    await open();
    const url = page.url();
    await view.field(field).fill("typed.example");
    await page.keyboard.press("Escape");
    await answer("Keep editing");
    await page.goBack();
    await answer("Keep editing");
    await page.waitForURL(url);
    const [closing] = await Promise.all([page.waitForEvent("dialog"), page.close({ runBeforeUnload: true })]);
    expect(closing.type()).toBe("beforeunload");
    await closing.dismiss();
    expect([page.url(), await view.field(field).inputValue()]).toEqual([url, "typed.example"]);
    await page.goBack();
    await answer("Discard changes");
    await page.waitForURL(/#\/shop\/history$/);
  });
});

test("a saved form asks no question", async () => {
  await view.show("shop/brands/4");
  await view.field(/^Name/).fill("Dunmore");
  await view.button("Save").click();
  await page.getByRole("alert").getByText("Saved").waitFor();
  await view.field(/^Name/).waitFor({ state: "hidden" });
  expect(await question().count()).toBe(0);
  await view.follow("History");
  expect(await question().count()).toBe(0);
});

test("the menu asks before it discards the columns that were chosen for an import", async () => {
  await view.show("shop/import");
  const buffer = Buffer.from("Vendor;Town\r\nAcme;Oslo\r\n");
  await page.locator("input[type=file]").setInputFiles({ name: "supplier.csv", mimeType: "text/csv", buffer });
  const column = page.getByLabel("Field for Town");
  await column.selectOption("Address.County");
  await page.getByRole("navigation").getByRole("link", { name: "API keys" }).click();
  await answer("Keep editing");
  expect(await column.inputValue()).toBe("Address.County");
  await page.getByRole("button", { name: "anna" }).click();
  await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
  await answer("Keep editing");
  await page.getByRole("navigation").getByRole("link", { name: "API keys" }).click();
  await answer("Discard changes");
  await page.waitForURL(/#\/shop\/keys$/);
});
