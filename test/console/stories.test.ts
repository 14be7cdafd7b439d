// What the people who run the shops do, in a real browser, at a desk and on a phone.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { openBrowser } from "../support/browser.ts";
import { startTestConsole, type TestConsole } from "../support/console.ts";
import { type ConsolePage, desktop, openConsole, phone } from "../support/console-page.ts";

let server: TestConsole;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startTestConsole(), openBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

async function addLocation(name: string, telephone: string): Promise<number> {
  const body = { Name: name, Telephone: { Daytime: telephone }, Address: { Town: "Leeds", Country: "GB" } };
  const { call } = await server.signIn("ben");
  return (await call("POST", "/sites/shop/records/locations", body)).json.record.ID;
}

async function telephoneOf(id: number): Promise<string> {
  const { call } = await server.signIn("ben");
  return (await call("GET", `/sites/shop/records/locations/${id}`)).json.record.Telephone.Daytime;
}

/** Waits until the notification offers to take a change back. */
const undoOffer = ({ page }: ConsolePage) => page.getByRole("alert").getByRole("button", { name: "Undo" });

describe.each([
  ["at a desk", desktop],
  ["on a phone", phone],
] as const)("%s", (place, size) => {
  test("sees how the shop is", async () => {
    const view = await openConsole(browser, server, size);
    await view.page.getByText("Latest changes").waitFor();
    await view.page.getByRole("link", { name: /brands/ }).waitFor();
    await view.finish();
  });

  test("makes a key for an integrator, with a line that works, and revokes it", async () => {
    const view = await openConsole(browser, server, size);
    const purpose = `till ${place}`;
    await view.follow("Keys");
    await view.button("New key").click();
    await view.field("Purpose").fill(purpose);
    await view.button("Create").click();
    const line = await view.field("Try it").inputValue();
    const [, key = ""] = /X-API-AUTH: (\S+)"/.exec(line) ?? [];
    const list = () => fetch(`${server.url}/restapi/brands.json`, { headers: { "X-API-AUTH": key } });
    expect((await list()).status).toBe(200);
    await view.button("Done").click();
    const row = view.page.getByRole("row").or(view.page.getByRole("article")).filter({ hasText: purpose });
    await row.getByRole("button", { name: /^Revoke/ }).click();
    await view.page.getByText("Every program that uses it is refused").waitFor();
    await view.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.getByText("revoked").waitFor();
    expect((await list()).status).toBe(401);
    await view.finish();
  });

  test("corrects a telephone number, and takes it back", async () => {
    const id = await addLocation(`Leeds ${place}`, "0113 496 0000");
    const view = await openConsole(browser, server, size);
    await view.follow("Locations");
    await view.field("Search").fill(place);
    await view.page.getByText(`Leeds ${place}`).first().click();
    await view.field("Daytime").fill("0113 496 0001");
    await view.button("Save").click();
    await undoOffer(view).waitFor();
    expect(await telephoneOf(id)).toBe("0113 496 0001");
    await undoOffer(view).click();
    await view.page.getByText("Undone").waitFor();
    expect(await telephoneOf(id)).toBe("0113 496 0000");
    await view.finish();
  });

  test("sees who changed what, and takes it back", async () => {
    await addLocation(`York ${place}`, "01904 496000");
    const view = await openConsole(browser, server, size);
    await view.follow("History");
    const entry = view.page.getByRole("button", {
      name: new RegExp(`Created the location York ${place}.*ben`),
    });
    await entry.click();
    await view.page.getByText("01904 496000").waitFor();
    await view.button("Undo").click();
    await view.page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
    await view.page.getByText(`Deleted the location York ${place}`).waitFor();
    await view.finish();
  });
});
