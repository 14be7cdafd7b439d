// A record that another operator changes during an edit.

import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { ConsolePage } from "../../support/console/page.ts";
import { brandsPath, recordFormOf } from "../../support/console/record-form.ts";
import type { ConsoleClient } from "../../support/console/server.ts";
import { useSitePage } from "../../support/console/use-console.ts";
import { waitUntil } from "../../support/time.ts";

let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
let form: ReturnType<typeof recordFormOf>;
// A change by another operator makes the server reject the own change, and a deleted record cannot be read again.
useSitePage((opened) => {
  ({ view, page, ben } = opened);
  form = recordFormOf(opened);
}, /404|412/);

const locationsPath = "/sites/shop/records/locations";

const dialog = () => page.getByRole("dialog").last();
const save = () => dialog().getByRole("button", { name: "Save" }).click();
async function saveInDialog(): Promise<void> {
  await save();
  await form.saved("Saved");
}

describe("a change by another operator during an edit", () => {
  const edit = async (name: string) => {
    const id = await form.addBrand(name);
    await view.show(`shop/brands/${id}`);
    await view.field(/^Name/).fill(`${name} of anna`);
    await ben.change(brandsPath, id, { Name: `${name} of ben` });
    return id;
  };

  const choice = (name: string) => dialog().getByRole("radio", { name, exact: true });
  const canSave = () => dialog().getByRole("button", { name: "Save" }).isEnabled();

  test("is shown with the original and the operator's own value, and nothing is saved before a value is chosen", async () => {
    const id = await edit("Acme");
    await view.button("Save").click();
    await dialog().getByText("This record has changed").waitFor();
    await dialog().getByText("Before: Acme", { exact: true }).waitFor();
    await dialog().getByText("1 choice left").waitFor();
    for (const name of ["Theirs: Acme of ben", "Yours: Acme of anna"])
      expect(await choice(name).isChecked()).toBe(false);
    expect(await canSave()).toBe(false);
    await page.keyboard.press("Control+s");
    // The form can't save it either.
    await view.button("Close").click();
    await view.button("Save").click();
    expect(await canSave()).toBe(false);
    expect((await form.brandOf(id)).Name).toBe("Acme of ben");
    await choice("Yours: Acme of anna").check();
    await saveInDialog();
    expect((await form.brandOf(id)).Name).toBe("Acme of anna");
  });

  test("is merged field by field, by the operator's choice", async () => {
    const Telephone = { Daytime: "1", Evening: "2" };
    const mill = { Name: "Mill", Code: "A", Manager: "Mr A", Telephone };
    const { ID: id } = (await ben.call("POST", locationsPath, mill)).json.record;
    await view.show(`shop/locations/${id}`);
    await view.field(/^Name/).fill("Mill of anna");
    await view.field("Manager").fill("Ms A");
    await view.field("Evening").fill("22 of anna");
    const theirs = { Name: "Mill of ben", Code: "B", Telephone: { Daytime: "11", Evening: "22 of ben" } };
    await ben.change(locationsPath, id, theirs);
    await view.button("Save").click();
    await dialog().getByText("Theirs: A B").waitFor();
    await dialog().getByText("2 choices left").waitFor();
    await choice("Theirs: 22 of ben").check();
    expect(await canSave()).toBe(false);
    await choice("Yours: Mill of anna").check();
    // A further change during the choice is a conflict again, but only between what's left.
    await ben.change(locationsPath, id, { Email: "mill@example.com" });
    await save();
    await dialog().getByText("mill@example.com").waitFor();
    await dialog().getByText("Mill of ben Mill of anna").waitFor();
    expect(await dialog().getByRole("radio").count()).toBe(0);
    await saveInDialog();
    expect((await ben.call("GET", `${locationsPath}/${id}`)).json.record).toMatchObject({
      Name: "Mill of anna",
      Code: "B",
      Manager: "Ms A",
      Email: "mill@example.com",
      Telephone: { Daytime: "11", Evening: "22 of ben" },
    });
  });

  test("a second time is shown too, with who has made it", async () => {
    const id = await edit("Gamma");
    await view.button("Save").click();
    await dialog()
      .getByText(/ben changed this just now/)
      .waitFor();
    await choice("Yours: Gamma of anna").check();
    await ben.change(brandsPath, id, { Name: "Gamma of ben, again" });
    await save();
    // It started from what the operator has seen since.
    await dialog().getByText("Before: Gamma of ben", { exact: true }).waitFor();
    expect(await canSave()).toBe(false);
    await choice("Yours: Gamma of anna").check();
    await saveInDialog();
    expect((await form.brandOf(id)).Name).toBe("Gamma of anna");
  });

  test("does not replace typed text when the page reads its data again", async () => {
    await edit("Zeta");
    const read = page.waitForResponse(/brands\?/);
    await page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))");
    await read;
    await page.getByRole("gridcell", { name: "Zeta of ben", exact: true, includeHidden: true }).waitFor();
    expect(await view.field(/^Name/).inputValue()).toBe("Zeta of anna");
    await page.keyboard.press("Escape");
    await view.button("Discard changes").click();
    await view.field(/^Name/).waitFor({ state: "hidden" });
  });

  test("may be its deletion", async () => {
    const id = await form.addBrand("Eta");
    await view.show(`shop/brands/${id}`);
    await view.field(/^Name/).fill("Eta of anna");
    await ben.call("DELETE", brandsPath, { ids: [id] });
    await view.button("Save").click();
    await dialog()
      .getByText(/ben deleted this/)
      .waitFor();
    expect([await dialog().getByRole("radio").count(), await canSave()]).toEqual([0, false]);
    await view.button("Discard my changes").click();
    await view.button("Close").click();
    await view.field(/^Name/).waitFor({ state: "hidden" });
  });

  test("stays when the operator chooses it", async () => {
    const id = await edit("Beta");
    await view.button("Save").click();
    await choice("Theirs: Beta of ben").check();
    await save();
    await page.getByRole("heading", { name: "Beta of ben" }).waitFor();
    await waitUntil(async () => (await view.field(/^Name/).inputValue()) === "Beta of ben", "the name of ben");
    expect((await form.brandOf(id)).Name).toBe("Beta of ben");
    await view.button("Close").click();
    await view.field(/^Name/).waitFor({ state: "hidden" });
  });
});
