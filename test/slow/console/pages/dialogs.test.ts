// Dialogs and menus are accessible for people who use a keyboard or a screen reader: axe finds nothing in both colour schemes, and Escape closes them.

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { findingsInBothSchemes } from "../../../support/console/axe.ts";
import { drawn, openPage, type Watched } from "../../../support/console/browser.ts";
import type { ConsolePage } from "../../../support/console/page.ts";
import type { TestConsole } from "../../../support/console/server.ts";
import { useSitePage } from "../../../support/console/use-console.ts";
import { createTestWebhook } from "../../../support/webhooks/test-webhook.ts";

// Most of the time is spent in axe, which is slow on a busy machine.
setDefaultTimeout(180_000);

let server: TestConsole;
let browser: Browser;
let view: ConsolePage;
let page: Page;
useSitePage((opened) => {
  ({ server, browser, view, page } = opened);
}, /401|412/);

/** Returns the findings of axe while a dialog or a menu is open. */
async function findingsAbove({ page: shown, settled }: Pick<Watched, "page" | "settled">): Promise<string[]> {
  await settled();
  // Menus are not part of the page's regions.
  return (await findingsInBothSchemes(shown)).filter((finding) => !finding.startsWith("region:"));
}

const click = (name: string | RegExp) => () => view.button(name).first().click();
const dialog = () => page.getByRole("dialog").last();

/** Opens the details of a delivery of a new webhook. */
async function openDelivery(): Promise<void> {
  const ref = await createTestWebhook(server.engine, server.site.ID, "https://203.0.113.9/hooks");
  const message = { headers: [["content-type", "text/plain"]] as const, body: "no", isText: true, bytes: 2 };
  const exchange = { url: "https://203.0.113.9/hooks", request: message, response: message };
  await server.engine.addWebhookAttempt(ref, { at: 1, status: 500, milliseconds: 1, fault: "no" }, exchange);
  await view.button("Deliveries").last().click();
  await page.getByRole("table", { name: "Deliveries" }).getByRole("button").first().click();
  await page.getByRole("heading", { name: "Request" }).waitFor();
}

/** Opens the details of a rejected request. */
async function openRequest(): Promise<void> {
  await server.call("POST", "/restapi/brands.json", { body: {} });
  await view.button(/^POST/).first().click();
}

/** The path of the page, the function that opens a dialog or menu, and its role if it is not a dialog. */
const opened: [name: string, path: string, open: () => Promise<void>, shown?: string][] = [
  ["the search over all sites", "shop", () => page.keyboard.press("Control+k")],
  ["the shortcuts", "shop", () => page.keyboard.press("?")],
  ["the menu of the operator", "shop", click(/^anna$/), "menu"],
  ["the choice of the site", "shop", () => page.getByRole("combobox", { name: "Site" }).click(), "listbox"],
  ["the form of a new record", "shop/brands/create", async () => {}],
  ["the form of a record", "shop/brands/1", async () => {}],
  ["the choice of columns", "shop/brands", click("Columns"), "menu"],
  ["a new key", "shop/keys", click("Create key")],
  ["a key to replace", "shop/keys", () => view.act(/./, "Rotate")],
  ["a key to stop", "shop/keys", () => view.act(/./, "Revoke")],
  ["the menu of a site", "shop/sites", click("Actions for outlet"), "menu"],
  ["a new site", "shop/sites", click("Add site")],
  ["a site to suspend", "shop/sites", () => view.act("shop", "Suspend")],
  ["a site to remove", "shop/sites", () => view.act("shop", "Remove")],
  ["a new operator", "shop/operators", click("Add operator")],
  ["an operator to change", "shop/operators", () => view.act("anna", "Edit")],
  ["an operator to remove", "shop/operators", () => view.act("anna", "Remove")],
  ["a new webhook", "shop/webhooks", click("Add webhook")],
  ["a delivery", "shop/webhooks", openDelivery],
  ["a request", "shop/requests", openRequest],
];

afterEach(async () => {
  for (let i = 0; i < 2; i++) await page.keyboard.press("Escape");
});

test.each(opened)("axe finds nothing in %s, and Escape closes it", async (_, path, open, role = "dialog") => {
  await view.show(path);
  await open();
  const shown = page.locator(`[role=${role}]`).last();
  await shown.waitFor();
  expect(await findingsAbove(view)).toEqual([]);
  await page.keyboard.press("Escape");
  await shown.waitFor({ state: "hidden" });
});

test("axe finds nothing in the dialog of an undo, and Escape closes it", async () => {
  await view.show("shop/history");
  await view
    .button(/^Created|^Changed/)
    .first()
    .click();
  await view.button("Undo").first().click();
  await dialog().locator("[type=submit]:enabled").waitFor();
  expect(await findingsAbove(view)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "hidden" });
});

test("axe finds nothing in the question before changes are discarded, in a conflict, and in the notification", async () => {
  await view.show("shop/brands/2");
  await view.field(/^Name/).fill("Barn Owl of anna");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Discard your changes?" }).waitFor();
  expect(await findingsAbove(view)).toEqual([]);
  await view.button("Keep editing").click();
  const ben = await server.signIn("ben");
  await ben.change("/sites/shop/records/brands", 2, { Name: "Barn Owl of ben" });
  await view.button("Save").click();
  await page.getByText("Theirs: Barn Owl of ben").waitFor();
  expect(await findingsAbove(view)).toEqual([]);
  await page.getByRole("radio", { name: "Yours: Barn Owl of anna" }).check();
  await dialog().getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("Saved").waitFor();
  await view.field(/^Name/).waitFor({ state: "hidden" });
  expect(await findingsAbove(view)).toEqual([]);
});

test("axe finds nothing in the dialog that shows a new key", async () => {
  await view.show("shop/keys");
  await view.button("Create key").click();
  await view.field("Name").fill("till");
  await view.button("Create").click();
  await view.field("Try it").waitFor();
  expect(await findingsAbove(view)).toEqual([]);
  await view.button("Done").click();
  await dialog().waitFor({ state: "hidden" });
});

test("axe finds nothing in the dialog at the end of the session", async () => {
  const { call } = await server.signIn("anna");
  await call("DELETE", "/sessions");
  await page.evaluate("location.assign('#/shop/history')");
  await page.getByRole("dialog", { name: "You’ve been signed out" }).waitFor();
  // The page below loads nothing until the operator signs in.
  expect(await findingsAbove({ page, settled: () => drawn(page) })).toEqual([]);
});

test("axe finds nothing on the page for signing in, also with an invalid link", async () => {
  const watched = await openPage(browser, server.adminUrl, 375, 740);
  const { page: other } = watched;
  await other.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await other.goto(server.adminUrl);
  await other.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(await findingsAbove(watched)).toEqual([]);
  await other.goto(`${server.adminUrl}/#sign-in=${"x".repeat(32)}`);
  await other.getByRole("alert").waitFor();
  expect(await findingsAbove(watched)).toEqual([]);
  await other.context().close();
});
