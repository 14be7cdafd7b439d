// Edits while the session ends, the server cannot be reached, a response is lost, or the network is slow.

import { describe, expect, test } from "bun:test";
import type { Browser, Page, Route } from "playwright-core";
import { removeOperator } from "../../../../src/operator/operators/operators.ts";
import { signOutEverywhere } from "../../../../src/operator/operators/sessions.ts";
import { type ConsolePage, openConsole } from "../../../support/console/page.ts";
import { brandsPath, recordFormOf } from "../../../support/console/record-form.ts";
import type { ConsoleClient } from "../../../support/console/server.ts";
import { type SitePage, useSitePage } from "../../../support/console/use-console.ts";

let server: SitePage["server"];
let browser: Browser;
let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
let form: ReturnType<typeof recordFormOf>;
// The tests cause these errors: ended sessions, an unreachable server, lost responses, and a change that is sent again after a lost response (412).
useSitePage((opened) => {
  ({ server, browser, view, page, ben } = opened);
  form = recordFormOf(opened);
}, /412|401|502|ERR_|Failed to fetch/);

async function numberOf(name: string): Promise<number> {
  return (await ben.call("GET", `${brandsPath}?search=${encodeURIComponent(name)}`)).json.total;
}

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
      await view.show(`shop/brands/${await form.addBrand("Gamma")}`);
      await page.getByRole("heading", { name: "Gamma" }).waitFor();
      await view.field(/^Name/).fill("Gamma of anna");
    },
    "Save",
    async () => {
      await form.saved("Saved");
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
      await form.saved("Created");
      expect(await numberOf("Theta")).toBe(1);
    },
  ],
  [
    "a new key",
    async () => {
      await view.show("shop/keys");
      await view.button("Create key").click();
      await view.field("Name").fill("after the session");
    },
    "Create",
    async () => {
      expect(await view.field("Key").inputValue()).toMatch(/^sfk_/);
      await view.button("Done").click();
      await page.getByRole("cell", { name: "after the session" }).first().waitFor();
    },
  ],
  [
    "the columns of an import",
    async () => {
      await view.show("shop/import");
      await page.locator("input[type=file]").setInputFiles(supplier);
      await page.getByLabel("Field for Vendor").selectOption("Name");
    },
    "Check",
    async () => {
      await view.button("1 new").waitFor();
    },
  ],
];

test.each(edits)("the edit of %s is sent after the operator signs in again", async (_, edit, send, done) => {
  await edit();
  await signOutEverywhere(server.engine, "anna", Date.now());
  await view.button(send).click();
  await page.getByText("You’ve been signed out").waitFor();
  await view.field("Link").fill(await server.link("anna"));
  await view.button("Sign in").click();
  await page.getByText("You’ve been signed out").waitFor({ state: "hidden" });
  await done();
});

/** Waits until the page says, once, that the server can't be reached. */
async function onlyMessage(): Promise<void> {
  await page.getByText("Reconnecting").waitFor();
  expect(await page.getByText("Can’t reach the server").count()).toBe(1);
}

test("typed text is kept while the server cannot be reached", async () => {
  const id = await form.addBrand("Delta");
  await view.show(`shop/brands/${id}`);
  await view.field(/^Name/).fill("Delta of anna");
  const restart = await server.stopAdmin();
  await view.button("Save").click();
  await onlyMessage();
  await restart();
  expect(await view.field(/^Name/).inputValue()).toBe("Delta of anna");
  await page.getByText("Reconnecting").waitFor({ state: "hidden" });
  await form.save();
  expect((await form.brandOf(id)).Name).toBe("Delta of anna");
});

test("a dialog can be sent again at once after the server could not be reached, and a double click asks nothing", async () => {
  await view.show("shop/operators");
  await view.button("Add operator").click();
  await view.field("Name").fill("dora");
  await page.getByRole("radio", { name: /^All sites/ }).check();
  const dialog = page.getByRole("dialog");
  const create = dialog.getByRole("button", { name: "Add" });
  const restart = await server.stopAdmin();
  await create.click();
  await onlyMessage();
  expect([await create.isEnabled(), await dialog.getByRole("alert").count()]).toEqual([true, 0]);
  await restart();
  await page.getByText("Reconnecting").waitFor({ state: "hidden" });
  await create.dblclick();
  await page.getByRole("dialog", { name: "dora was added" }).waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("row", { name: "dora" }).waitFor();
});

test("every page waits for a server that cannot be reached, and then shows its content", async () => {
  const go = (path: string) => page.evaluate(`location.assign(${JSON.stringify(`#/${path}`)})`);
  await view.show("shop/sites");
  const restart = await server.stopAdmin();
  for (const path of Object.values(server.pages)) {
    await go(path);
    await page.getByText("Reconnecting").waitFor();
  }
  await go("shop/operators");
  await restart();
  await page.getByRole("cell", { name: "ben", exact: true }).waitFor();
  for (const path of Object.values(server.pages)) {
    await view.show(path);
    await page.locator("main :is(table, article, form, h2, p)").first().waitFor();
  }
  expect(await page.getByText("Reconnecting").count()).toBe(0);
});

test("behind a proxy, the page says once that the server cannot be reached, and goes on when it can", async () => {
  let isDown = true;
  const refuse = async (route: Route) =>
    isDown ? route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }) : route.fallback();
  await view.show("shop/sites");
  await page.route("**/operator/**", refuse);
  await page.evaluate("location.assign('#/shop')");
  await onlyMessage();
  await page.evaluate("location.assign('#/shop/brands/1')");
  await onlyMessage();
  isDown = false;
  await view.field(/^Name/).waitFor();
  await page.getByText("Reconnecting").waitFor({ state: "hidden" });
  await page.unroute("**/operator/**", refuse);
});

test("previews wait for a server that cannot be reached", async () => {
  await view.show("shop/brands");
  await page.getByLabel("Select all on this page").check();
  await view.button("Edit a field").click();
  const restart = await server.stopAdmin();
  await page.getByLabel("Field", { exact: true }).selectOption("Town");
  await page.getByLabel("New value").fill("Ulm");
  await onlyMessage();
  await restart();
  await page.getByText(/brands? will change/).waitFor();
  await page.keyboard.press("Escape");
  await view.button("Discard changes").click();
});

test("an operator who was removed reads that, and can still copy what they have typed", async () => {
  const other = await openConsole(browser, server, { operator: "erik" });
  await other.show("shop/brands/create");
  await other.field(/^Name/).fill("Last words");
  await removeOperator(server.engine, "erik", Date.now());
  await other.button("Save").click();
  await other.page.getByText("Your access to this console was revoked").waitFor();
  // The save has failed, rather than waiting for someone who can't come back.
  await other.button("Save").and(other.page.locator(":enabled")).waitFor();
  expect(await other.page.getByText("You’ve been signed out").count()).toBe(0);
  await other.field(/^Name/).click();
  await other.page.keyboard.press("Control+a");
  expect(await other.page.evaluate<string>("String(getSelection())")).toBe("Last words");
  expect(await numberOf("Last words")).toBe(0);
  const another = await other.page.context().newPage();
  await another.goto(server.adminUrl);
  await another.getByRole("alert").getByText("Your access to this console was revoked").waitFor();
  await other.finish(/401/);
});

describe("a lost response", () => {
  /** Lets requests with this method reach the server, and drops their responses. @returns a function that waits for the first lost response */
  const lose = async (method: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route("**/operator/sites/**", async (route) => {
      if (route.request().method() !== method) return route.fallback();
      await route.fetch();
      await route.abort();
      resolve();
    });
    return () => promise;
  };
  const stopLosing = async () => {
    await page.unroute("**/operator/sites/**");
    await page.getByText("Reconnecting").waitFor({ state: "hidden" });
  };

  test("does not create a record twice when it is saved again", async () => {
    await view.show("shop/brands/create");
    await view.field(/^Name/).fill("Lost and found");
    const lost = await lose("POST");
    await view.button("Save").click();
    // The notice alone may belong to an earlier test.
    await lost();
    await onlyMessage();
    await stopLosing();
    await view.button("Save").click();
    await form.saved("Created");
    expect(await numberOf("Lost and found")).toBe(1);
  });

  test("does not cause a conflict with the operator's own change, even if the server was restarted", async () => {
    const id = await form.addBrand("Omega");
    await view.show(`shop/brands/${id}`);
    await view.field(/^Name/).fill("Omega of anna");
    const lost = await lose("POST");
    await view.button("Save").click();
    await lost();
    await onlyMessage();
    const restart = await server.stopAdmin();
    await restart();
    await stopLosing();
    await view.button("Save").click();
    await view.field(/^Name/).waitFor({ state: "hidden" });
    expect((await form.brandOf(id)).Name).toBe("Omega of anna");
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
  await form.saved("Created");
  await view.show("shop/keys");
  await view.button("Create key").click();
  await view.field("Name").fill("twice");
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
  await page.getByText("You’ve been signed out").waitFor();
  await other.goto(await server.link("anna"));
  await other.locator("#main-content").waitFor();
  await other.close();
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByText("You’ve been signed out").waitFor({ state: "hidden" });
  await form.saved("Created");
  expect(await numberOf("In two tabs")).toBe(1);
});
