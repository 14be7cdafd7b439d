// Unusual texts: too long for a search, too wide for a phone, with invisible characters, or with code.

import { describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { type ConsolePage, openConsole, phone } from "../../../support/console/page.ts";
import type { ConsoleClient } from "../../../support/console/server.ts";
import { type SitePage, useSitePage } from "../../../support/console/use-console.ts";
import { waitUntil } from "../../../support/time.ts";

let server: SitePage["server"];
let browser: Browser;
let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
useSitePage((opened) => {
  ({ server, browser, view, page, ben } = opened);
});

const add = async (resource: string, values: object): Promise<number> =>
  (await ben.call("POST", `/sites/shop/records/${resource}`, values)).json.record.ID;

test("a search has at most 255 characters, also if it is pasted or in the address", async () => {
  await view.show("shop/brands");
  const search = view.field("Search");
  const response = page.waitForResponse(/search=x/);
  await search.focus();
  await page.keyboard.insertText("x".repeat(26_000));
  expect((await response).status()).toBe(200);
  expect(await search.inputValue()).toBe("x".repeat(255));
  await page.getByText(/^No brands match/).waitFor();
  await view.show(`shop/brands?search=${"y".repeat(26_000)}`);
  await page.getByText(`No brands match “${"y".repeat(255)}”`).waitFor();
  await view.button("Clear search").first().click();
  await page.getByRole("link", { name: "Fernhill" }).waitFor();
});

test("a long word does not make a page wider on a phone", async () => {
  const long = (length: number) => "W".repeat(length);
  const Address = { AddressLine1: long(255), Town: long(128), County: long(128), Postcode: long(32), Country: "GB" };
  const id = await add("locations", { Name: long(255), Code: long(64), Manager: long(128), Address });
  await add("brands", { Name: long(255), AccountNumber: long(64), Address: { Town: long(128) } });
  await ben.call("POST", "/sites/shop/keys", { label: long(64), scope: "read", rate: null, expires: null });
  await server.addOperator(long(64));
  const small = await openConsole(browser, server, phone);
  const tooWide: string[] = [];
  const checkWidth = async (name: string) => {
    const width = await small.page.evaluate<number>("document.documentElement.scrollWidth");
    if (width > phone.width) tooWide.push(`${name}: ${width}`);
  };
  for (const [name, path] of Object.entries({
    ...server.pages,
    locations: "shop/locations",
    record: `shop/locations/${id}`,
  })) {
    await small.show(path);
    await checkWidth(name);
  }
  await small.page.getByRole("tab", { name: "History" }).click();
  await small.button(/^Created location W/).click();
  await small.settled();
  await checkWidth("the history of a record");
  await small.page.getByRole("tab", { name: "Details" }).click();
  await small.button("Delete").click();
  await small.page.getByRole("listitem").first().waitFor();
  await checkWidth("the question before a record is deleted");
  expect(tooWide).toEqual([]);
  await small.finish();
});

test("characters that change the direction of a text are shown by their code", async () => {
  const name = "Invoice\u202Egpj.exe\u2066";
  const shown = "Invoice[U+202E]gpj.exe[U+2066]";
  const id = await add("brands", { Name: name });
  const everywhere: [path: string, text: string][] = [
    ["shop", `Created brand ${shown}`],
    ["shop/history", `Created brand ${shown}`],
    ["shop/brands", shown],
    [`shop/brands/${id}`, `This text contains invisible characters: ${shown}`],
  ];
  for (const [path, text] of everywhere) {
    await view.show(path);
    await page.getByText(text).first().waitFor();
  }
  await page.getByRole("heading", { name: shown }).waitFor();
  expect(await page.title()).toStartWith(shown);
  await view.button("Delete").click();
  await page.getByRole("dialog").getByText(`${shown} · ID ${id}`).waitFor();
  await page.keyboard.press("Escape");
  expect(await view.field(/^Name/).inputValue()).toBe(name);
  const texts = await page.evaluate<string>("document.body.innerText + document.title");
  expect(texts).not.toMatch(/\p{Bidi_Control}/u);
  await view.button("Close").click();
  await view.show("shop/brands");
  await page.getByRole("button", { name: "Sort by ID (ascending)", exact: true }).waitFor();
});

describe.each([
  ["<script>alert(1)</script>"],
  ["=cmd|'/C calc'!A0"],
  ["<img src=x onerror=alert(1)>"],
])("a brand named %s", (name) => {
  test("is shown as text everywhere", async () => {
    const id = await add("brands", { Name: name });
    let alerts = 0;
    page.on("dialog", (opened) => {
      alerts++;
      void opened.dismiss();
    });
    await view.show("shop");
    await page.getByText(`Created brand ${name}`).waitFor();
    await view.show("shop/history");
    await page.getByText(`Created brand ${name}`).first().waitFor();
    await page.keyboard.press("Control+k");
    await page.getByLabel("Name, account number, code or ID").fill(name);
    await page.getByRole("link", { name: `${name} shop · brand ${id} · Name` }).click();
    await page.getByRole("heading", { name, exact: true }).waitFor();
    await waitUntil(async () => (await page.title()).startsWith(name), "the title");
    await waitUntil(async () => (await view.field(/^Name/).inputValue()) === name, "the name");
    const file = await ben.call("GET", `/sites/shop/records/brands/export?format=csv`);
    expect(file.text).toContain(name);
    await view.button("Delete").click();
    await page.getByRole("dialog").last().getByText(name).first().waitFor();
    await page.getByRole("dialog").last().getByRole("button", { name: "Delete" }).click();
    await page.locator(".MuiDrawer-root").waitFor({ state: "hidden" });
    await page.getByRole("alert").getByText("deleted").first().waitFor();
    expect((await ben.call("GET", `/sites/shop/records/brands/${id}`)).status).toBe(404);
    expect(alerts).toBe(0);
  });
});
