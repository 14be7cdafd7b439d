// The console in unexpected situations: changes by other operators, the end of a session, an unreachable server, hostile names.

import { describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { signOutEverywhere } from "../../src/operator/sessions.ts";
import { waitFor } from "../support/command.ts";
import type { ConsoleClient } from "../support/console.ts";
import { type ConsolePage, openConsole } from "../support/console-page.ts";
import { type ShopPage, useShopPage } from "../support/use-console.ts";

let server: ShopPage["server"];
let browser: Browser;
let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
// The tests cause these errors: rejected changes, ended sessions, an unreachable server.
useShopPage((opened) => {
  ({ server, browser, view, page, ben } = opened);
}, /412|401|ERR_|Failed to fetch/);

const brandsPath = "/sites/shop/records/brands";
const locationsPath = "/sites/shop/records/locations";

async function addBrand(name: string): Promise<number> {
  return (await ben.call("POST", brandsPath, { Name: name })).json.record.ID;
}

async function brandOf(id: number) {
  return (await ben.call("GET", `${brandsPath}/${id}`)).json.record;
}

async function numberOf(name: string): Promise<number> {
  return (await ben.call("GET", `${brandsPath}?search=${encodeURIComponent(name)}`)).json.total;
}

const dialog = () => page.getByRole("dialog").last();
const notice = (text: string) => page.getByRole("alert").getByText(text);

/** Waits until the form has closed, which happens after it was saved. The notice alone may belong to the previous change. */
async function saved(text: "Saved" | "Created"): Promise<void> {
  await view.field(/^Name/).waitFor({ state: "hidden" });
  await notice(text).waitFor();
}

async function save(button = "Save"): Promise<void> {
  await view.button(button).click();
  await saved("Saved");
}

describe("a change by another operator during an edit", () => {
  const edit = async (name: string) => {
    const id = await addBrand(name);
    await view.show(`shop/brands/${id}`);
    await view.field(/^Name/).fill(`${name} of anna`);
    await ben.call("PATCH", `${brandsPath}/${id}`, { Name: `${name} of ben` });
    return id;
  };

  test("is shown next to the operator's own change, which can still be saved", async () => {
    const id = await edit("Acme");
    await view.button("Save").click();
    const row = dialog().getByRole("row", { name: /Name/ });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/Acme of ben\s+Acme of anna/);
    expect((await brandOf(id)).Name).toBe("Acme of ben");
    await save("Save the chosen values");
    expect((await brandOf(id)).Name).toBe("Acme of anna");
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
    await ben.call("PATCH", `${locationsPath}/${id}`, theirs);
    await view.button("Save").click();
    const choice = (name: string) => page.getByRole("radio", { name, exact: true });
    await choice("Telephone: evening: Stored now").check();
    // A field that only the other operator has changed keeps that change by default. A further change during the choice is a conflict again.
    expect(await choice("Code: Stored now").isChecked()).toBe(true);
    await choice("Code: Yours").check();
    await ben.call("PATCH", `${locationsPath}/${id}`, { Email: "mill@example.com" });
    await view.button("Save the chosen values").click();
    await dialog().getByText("was changed by someone else").waitFor();
    await save("Save the chosen values");
    expect((await ben.call("GET", `${locationsPath}/${id}`)).json.record).toMatchObject({
      Name: "Mill of anna",
      Code: "A",
      Manager: "Ms A",
      Email: "mill@example.com",
      Telephone: { Daytime: "11", Evening: "22 of ben" },
    });
  });

  test("does not replace typed text when the page reads its data again", async () => {
    await edit("Zeta");
    const read = page.waitForResponse(/brands\?/);
    await page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))");
    await read;
    await page.getByRole("cell", { name: "Zeta of ben", includeHidden: true }).waitFor();
    expect(await view.field(/^Name/).inputValue()).toBe("Zeta of anna");
    await page.keyboard.press("Escape");
    await view.button("Discard").click();
    await view.field(/^Name/).waitFor({ state: "hidden" });
  });

  test("stays when the operator discards the typed text", async () => {
    const id = await edit("Beta");
    await view.button("Save").click();
    await view.button("Discard mine").click();
    await page.getByRole("heading", { name: "Beta of ben" }).waitFor();
    await waitFor(async () => (await view.field(/^Name/).inputValue()) === "Beta of ben", "the name of ben");
    expect((await brandOf(id)).Name).toBe("Beta of ben");
    await view.button("Close").click();
    await view.field(/^Name/).waitFor({ state: "hidden" });
  });
});

const supplier = {
  name: "supplier.csv",
  mimeType: "text/csv",
  buffer: Buffer.from("Vendor;Town\r\nImported;Oslo\r\n"),
};

/** An edit, the button that sends it, and a check of the result. */
const edits: [name: string, edit: () => Promise<void>, send: string, done: () => Promise<void>][] = [
  [
    "a record",
    async () => {
      await view.show(`shop/brands/${await addBrand("Gamma")}`);
      await page.getByRole("heading", { name: "Gamma" }).waitFor();
      await view.field(/^Name/).fill("Gamma of anna");
    },
    "Save",
    async () => {
      await saved("Saved");
      expect(await numberOf("Gamma of anna")).toBe(1);
    },
  ],
  [
    "a new record",
    async () => {
      await view.show("shop/brands/create");
      await view.field(/^Name/).fill("Theta");
    },
    "Save",
    async () => {
      await saved("Created");
      expect(await numberOf("Theta")).toBe(1);
    },
  ],
  [
    "a new key",
    async () => {
      await view.show("shop/keys");
      await view.button("New key").click();
      await view.field("Purpose").fill("after the session");
    },
    "Create",
    async () => {
      expect(await view.field("Key").inputValue()).toMatch(/^sfk_/);
      await view.button("Done").click();
      await page.getByRole("cell", { name: "after the session" }).waitFor();
    },
  ],
  [
    "the columns of an import",
    async () => {
      await view.show("shop/import");
      await page.locator("input[type=file]").setInputFiles(supplier);
      await page.getByLabel("Name *", { exact: true }).selectOption("Vendor");
    },
    "Check",
    async () => {
      await view.button("1 new").waitFor();
    },
  ],
];

test.each(edits)("the edit of %s is sent after the operator signs in again", async (_, edit, send, done) => {
  await edit();
  await signOutEverywhere(server.engine, "anna");
  await view.button(send).click();
  await page.getByText("Your session has ended").waitFor();
  await view.field("Link").fill(await server.link("anna"));
  await view.button("Sign in").click();
  await page.getByText("Your session has ended").waitFor({ state: "hidden" });
  await done();
});

test("typed text is kept while the server cannot be reached", async () => {
  const id = await addBrand("Delta");
  await view.show(`shop/brands/${id}`);
  await view.field(/^Name/).fill("Delta of anna");
  const restart = await server.stopAdmin();
  await view.button("Save").click();
  await notice("cannot be reached").waitFor();
  await restart();
  expect(await view.field(/^Name/).inputValue()).toBe("Delta of anna");
  await page.getByText("The console tries again by itself").waitFor({ state: "hidden" });
  await save();
  expect((await brandOf(id)).Name).toBe("Delta of anna");
});

test("every page waits for a server that cannot be reached, and then shows its content", async () => {
  const go = (path: string) => page.evaluate(`location.assign(${JSON.stringify(`#/${path}`)})`);
  await view.show("shop/sites");
  const restart = await server.stopAdmin();
  for (const path of Object.values(server.pages)) {
    await go(path);
    await page.getByText("The console tries again by itself").waitFor();
  }
  await go("shop/operators");
  await restart();
  await page.getByRole("cell", { name: "ben", exact: true }).waitFor();
  for (const path of Object.values(server.pages)) {
    await view.show(path);
    await page.locator("main :is(table, article, form, h2, p)").first().waitFor();
  }
  expect(await page.getByText("The console tries again by itself").count()).toBe(0);
});

describe("a lost response", () => {
  /** Lets requests with this method reach the server, and drops their responses. */
  const lose = (method: string) =>
    page.route("**/operator/sites/**", async (route) => {
      if (route.request().method() !== method) return route.fallback();
      await route.fetch();
      await route.abort();
    });
  const stopLosing = async () => {
    await page.unroute("**/operator/sites/**");
    await page.getByText("The console tries again by itself").waitFor({ state: "hidden" });
  };

  test("does not create a record twice when it is saved again", async () => {
    await view.show("shop/brands/create");
    await view.field(/^Name/).fill("Lost and found");
    await lose("POST");
    await view.button("Save").click();
    await notice("cannot be reached").first().waitFor();
    await stopLosing();
    await view.button("Save").click();
    await saved("Created");
    expect(await numberOf("Lost and found")).toBe(1);
  });

  test("does not cause a conflict with the operator's own change, even if the server was restarted", async () => {
    const id = await addBrand("Omega");
    await view.show(`shop/brands/${id}`);
    await view.field(/^Name/).fill("Omega of anna");
    await lose("PATCH");
    await view.button("Save").click();
    await notice("cannot be reached").first().waitFor();
    const restart = await server.stopAdmin();
    await restart();
    await stopLosing();
    await view.button("Save").click();
    await view.field(/^Name/).waitFor({ state: "hidden" });
    expect((await brandOf(id)).Name).toBe("Omega of anna");
  });
});

test("the console shows that it is loading on a slow network, and a second click sends no second request", async () => {
  const sent: string[] = [];
  let unblocked = Promise.resolve();
  await page.route("**/operator/sites/**", async (route) => {
    if (route.request().method() !== "GET") sent.push(route.request().method());
    await unblocked;
    await route.continue();
  });
  /** Calls `act` while requests are blocked, and then unblocks them. */
  const whileBlocked = async (act: () => Promise<void>) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    unblocked = promise;
    await act();
    resolve();
  };
  await whileBlocked(async () => {
    await page.evaluate("location.assign('#/shop/history')");
    await page.getByRole("progressbar").first().waitFor();
  });
  await view.show("shop/brands/create");
  await view.field(/^Name/).fill("Twice clicked");
  await whileBlocked(() => view.button("Save").dblclick());
  await saved("Created");
  await view.show("shop/keys");
  await view.button("New key").click();
  await view.field("Purpose").fill("twice");
  await whileBlocked(() => view.button("Create").dblclick());
  await view.button("Done").click();
  await page.unroute("**/operator/sites/**");
  expect(sent).toEqual(["POST", "POST"]);
  expect(await numberOf("Twice clicked")).toBe(1);
});

test("an operator who signs out in one tab is asked to sign in in the other tab, which keeps the typed text", async () => {
  await view.show("shop/brands/create");
  await view.field(/^Name/).fill("In two tabs");
  const other = await page.context().newPage();
  await other.goto(`${server.adminUrl}/#/shop`);
  await other.getByRole("button", { name: "anna", exact: true }).click();
  await other.getByRole("menuitem", { name: "Sign out", exact: true }).click();
  await other.getByRole("heading", { name: "Sign in" }).waitFor();
  await view.button("Save").click();
  await page.getByText("Your session has ended").waitFor();
  await other.goto(await server.link("anna"));
  await other.locator("#main-content").waitFor();
  await other.close();
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await saved("Created");
  expect(await numberOf("In two tabs")).toBe(1);
});

test("an operator of one shop sees only this shop, also at addresses of other shops", async () => {
  const dora = await openConsole(browser, server, { operator: "dora", sites: ["outlet"] });
  await dora.page.waitForURL(/#\/outlet/);
  await dora.page.getByRole("menuitem", { name: "Shops" }).waitFor();
  expect(await dora.page.getByRole("menuitem", { name: "Operators" }).count()).toBe(0);
  await dora.page.getByRole("combobox", { name: "Shop" }).click();
  await dora.page.getByRole("option").first().waitFor();
  expect(await dora.page.getByRole("option").allTextContents()).toEqual(["outlet"]);
  await dora.page.keyboard.press("Escape");
  for (const path of Object.values(server.pages)) {
    await dora.show(path);
    await dora.page.getByText("There is no shop shop").waitFor();
  }
  await dora.show("outlet/operators");
  await dora.page.getByText("There is nothing at this address").waitFor();
  await dora.show("outlet/sites");
  expect(await dora.button(/New shop|Remove/).count()).toBe(0);
  await dora.page.keyboard.press("Control+k");
  await dora.page.getByLabel("Name, account number, code or ID").fill("Fernhill");
  await dora.page.getByText("Nothing was found").waitFor();
  await dora.finish();
});

describe.each([
  ["<script>alert(1)</script>"],
  ["=cmd|'/C calc'!A0"],
  ["<img src=x onerror=alert(1)>"],
])("a brand named %s", (name) => {
  test("is shown as text everywhere", async () => {
    const id = await addBrand(name);
    let alerts = 0;
    page.on("dialog", (opened) => {
      alerts++;
      void opened.dismiss();
    });
    await view.show("shop");
    await page.getByText(`Created the brand ${name}`).waitFor();
    await view.show("shop/history");
    await page.getByText(`Created the brand ${name}`).first().waitFor();
    await page.keyboard.press("Control+k");
    await page.getByLabel("Name, account number, code or ID").fill(name);
    await page.getByRole("link", { name: `${name} shop · brand ${id} · Name` }).click();
    await page.getByRole("heading", { name, exact: true }).waitFor();
    await waitFor(async () => (await page.title()).startsWith(name), "the title");
    await waitFor(async () => (await view.field(/^Name/).inputValue()) === name, "the name");
    const file = await ben.call("GET", `${brandsPath}/export?format=csv`);
    expect(file.text).toContain(name);
    await view.button("Delete").click();
    await dialog().getByText(name).first().waitFor();
    await dialog().getByRole("button", { name: "Delete" }).click();
    await view.field(/^Name/).waitFor({ state: "hidden" });
    await notice("deleted").waitFor();
    expect((await ben.call("GET", `${brandsPath}/${id}`)).status).toBe(404);
    expect(alerts).toBe(0);
  });
});
