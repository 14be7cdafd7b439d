// Tasks of the people who run the shops, in a real browser, on a desktop and on a phone.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { openBrowser } from "../../../support/console/browser.ts";
import { type ConsolePage, desktop, openConsole, phone } from "../../../support/console/page.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../../support/console/server.ts";

let server: TestConsole;
let browser: Browser;
let ben: ConsoleClient;
beforeAll(async () => {
  [server, browser] = await Promise.all([startTestConsole(), openBrowser()]);
  ben = await server.signIn("ben");
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const locations = "/sites/shop/records/locations";

const Address = { AddressLine1: "14 Briggate", Town: "Leeds", Postcode: "LS1 6HD", Country: "GB" };

async function addLocation(name: string, telephone: string): Promise<number> {
  const body = { Name: name, Telephone: { Daytime: telephone }, Address };
  return (await ben.call("POST", locations, body)).json.record.ID;
}

async function telephoneOf(id: number): Promise<string> {
  return (await ben.call("GET", `${locations}/${id}`)).json.record.Telephone.Daytime;
}

async function brandNames(search: string): Promise<string[]> {
  const { records } = (await ben.call("GET", `/sites/shop/records/brands?sort=Name&search=${search}`)).json;
  return records.map(({ record }: { record: { Name: string } }) => record.Name);
}

/** Runs a `curl` command in a shell. Returns the status of the response. */
async function statusOf(line: string): Promise<string> {
  return Bun.$`sh -c ${`${line} -s -o /dev/null -w %{http_code}`}`.nothrow().text();
}

describe.each([
  ["desktop", desktop],
  ["phone", phone],
] as const)("an operator on a %s", (place, size) => {
  let view: ConsolePage;
  beforeAll(async () => {
    view = await openConsole(browser, server, size);
  });
  afterAll(() => view.finish());

  const dialog = () => view.page.getByRole("dialog");
  const notice = () => view.page.getByRole("alert");
  /** Returns a row of a table, or a card of a list on a phone. */
  const item = (text: string) =>
    view.page.getByRole("row").or(view.page.getByRole("listitem")).filter({ hasText: text });

  test("sees an overview without warnings", async () => {
    await view.page.getByRole("heading", { name: "Latest changes" }).waitFor();
    await view.page.getByRole("link", { name: /brands/ }).waitFor();
    expect(
      await notice()
        .filter({ hasText: /failing|expires on/ })
        .count(),
    ).toBe(0);
    // The number of errors is red only if there are any.
    const colorOf = (text: string) =>
      view.page
        .getByText(text, { exact: true })
        .first()
        .evaluate((shown) => shown.ownerDocument.defaultView?.getComputedStyle(shown).color);
    expect(await colorOf("0 in the hour")).toStartWith("rgb");
    expect(await colorOf("0 in the hour")).toBe(await colorOf("Server errors per minute"));
  });

  test("creates a key for an integrator, with a command that lists records, and revokes the key", async () => {
    await view.follow("Keys");
    await view.button("New key").click();
    await view.field("Purpose").fill(`till at a ${place}`);
    await view.button("Create").click();
    const line = await view.field("Try it").inputValue();
    expect(await statusOf(line)).toBe("200");
    await view.button("Done").click();
    const key = item(`till at a ${place}`);
    await view.act(new RegExp(`till at a ${place}`), "Stop for good");
    await view.page.getByText("can no longer read or change anything").waitFor();
    await dialog().getByRole("button", { name: "Stop for good" }).click();
    await key.getByText("Stopped").waitFor();
    expect(await statusOf(line)).toBe("401");
  });

  test("adds a shop with a valid key, and opens the shop", async () => {
    const name = `shop-of-${place}`;
    await view.follow("Shops");
    await view.button("New shop").click();
    await view.field(/^Name/).fill(name);
    await view.field(/^Web addresses/).fill(`${name}.example`);
    await view.page.getByLabel("Make a key that may read and change").check();
    await view.button("Create").click();
    const key = await view.field("Key").inputValue();
    const headers = { "X-API-AUTH": key, Host: `${name}.example` };
    expect((await fetch(`${server.url}/restapi/brands.json`, { headers })).status).toBe(200);
    await view.button("Done").click();
    await view.page.getByRole("link", { name, exact: true }).click();
    await view.page.locator(`[aria-label=Shop][value="${name}"]`).waitFor();
    await view.show("shop");
  });

  test("sees the address of a location with a link to a map, corrects a telephone number, and undoes the correction", async () => {
    const id = await addLocation(`Leeds ${place}`, "0113 496 0000");
    await view.follow("Locations");
    await view.field("Search").fill(place);
    await view.page.waitForURL(/search=/);
    await view.settled();
    await view.page.getByText(`Leeds ${place}`).first().click();
    const address = view.page.locator("address");
    expect((await address.innerText()).split("\n")).toEqual(["14 Briggate", "Leeds LS1 6HD", "GB", "Show on a map"]);
    const query = encodeURIComponent("14 Briggate, Leeds, LS1 6HD, GB");
    expect(await address.getByRole("link").getAttribute("href")).toEndWith(`?query=${query}`);
    const call = view.page.getByRole("link", { name: "0113 496 0000" });
    expect(await call.getAttribute("href")).toBe("tel:01134960000");
    await view.field("Daytime").fill("0113 496 0001");
    await view.button("Save").click();
    const undo = notice().getByRole("button", { name: "Undo" });
    await undo.waitFor();
    expect(await telephoneOf(id)).toBe("0113 496 0001");
    await undo.click();
    await view.page.getByText("Undone").waitFor();
    expect(await telephoneOf(id)).toBe("0113 496 0000");
  });

  test("uploads a supplier's spreadsheet, checks its effect, imports it, and undoes the import", async () => {
    await ben.call("POST", "/sites/shop/records/brands", { Name: `Known ${place}` });
    const text = `Vendor;Town\r\nKnown ${place};Oslo\r\nNew ${place};Bergen\r\n;Nowhere\r\n`;
    // Excel saves such a file.
    const buffer = Buffer.from(`\ufeff${text}`, "utf16le");
    await view.follow("Import and export");
    await view.page.locator("input[type=file]").setInputFiles({ name: "supplier.csv", mimeType: "text/csv", buffer });
    await view.page.getByLabel("Field for Vendor").waitFor();
    await view.button("Check").click();
    await view.button("1 rejected").waitFor();
    await view.button("1 changed").click();
    await view.page.locator("ins", { hasText: "Oslo" }).waitFor();
    expect(await brandNames(place)).toEqual([`Known ${place}`]);
    await view.button("Import 2 rows").click();
    await view.page.getByText("1 created, 1 changed, 0 unchanged, 1 rejected").waitFor();
    expect(await brandNames(place)).toEqual([`Known ${place}`, `New ${place}`]);
    await view.button("Undo this import").click();
    await dialog().getByRole("button", { name: "Undo" }).click();
    await view.page.getByText("2 records are as before").waitFor();
    expect(await brandNames(place)).toEqual([`Known ${place}`]);
  });

  test("sees a change with its author, and undoes it", async () => {
    await addLocation(`York ${place}`, "01904 496000");
    await view.follow("History");
    await view.button(new RegExp(`Created the location York ${place}.*ben`)).click();
    await view.page.getByText("01904 496000").waitFor();
    await view.button("Undo").click();
    await dialog().getByRole("button", { name: "Undo" }).click();
    await view.page.getByText(`Deleted the location York ${place}`).waitFor();
  });
});
