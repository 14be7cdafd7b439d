// The console when something comes between: another's change, the end of a session, a server that is gone, hostile names.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { addSite } from "../../src/operator/sites.ts";
import { openBrowser } from "../support/browser.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../support/console.ts";
import { openConsole, phone } from "../support/console-page.ts";

let server: TestConsole;
let browser: Browser;
let ben: ConsoleClient;
const time = Date.now();
beforeAll(async () => {
  [server, browser] = await Promise.all([startTestConsole({ now: () => time }), openBrowser()]);
  ben = await server.signIn("ben");
  await addSite(server.engine, "toys", {}, time);
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const brandsPath = "/sites/shop/records/brands";

async function addBrand(name: string): Promise<number> {
  return (await ben.call("POST", brandsPath, { Name: name })).json.record.ID;
}

async function brandOf(id: number) {
  return (await ben.call("GET", `${brandsPath}/${id}`)).json.record;
}

describe("a change of someone else in between", () => {
  test("is shown beside one's own, which can be saved all the same", async () => {
    const id = await addBrand("Acme");
    const view = await openConsole(browser, server);
    await view.show(`shop/brands/${id}`);
    await view.field(/^Name/).fill("Acme of anna");
    await ben.call("PATCH", `${brandsPath}/${id}`, { Name: "Acme of ben" });
    await view.button("Save").click();
    const row = view.page.getByRole("dialog").getByRole("row", { name: /Name/ });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/Acme of ben\s+Acme of anna/);
    expect((await brandOf(id)).Name).toBe("Acme of ben");
    await view.button("Save the chosen values").click();
    await view.page.getByRole("alert").getByText("Saved").waitFor();
    expect((await brandOf(id)).Name).toBe("Acme of anna");
    await view.finish(/412/);
  });

  test("is merged field by field, as is chosen", async () => {
    const path = "/sites/shop/records/locations";
    const Telephone = { Daytime: "1", Evening: "2" };
    const { ID: id } = (await ben.call("POST", path, { Name: "Mill", Code: "A", Manager: "Mr A", Telephone })).json
      .record;
    const view = await openConsole(browser, server);
    await view.show(`shop/locations/${id}`);
    await view.field(/^Name/).fill("Mill of anna");
    await view.field("Manager").fill("Ms A");
    await view.field("Evening").fill("22 of anna");
    const theirs = { Name: "Mill of ben", Code: "B", Telephone: { Daytime: "11", Evening: "22 of ben" } };
    await ben.call("PATCH", `${path}/${id}`, theirs);
    await view.button("Save").click();
    const choice = (name: string) => view.page.getByRole("radio", { name, exact: true });
    await choice("Telephone: evening: Stored now").check();
    // What only the other has changed stays, unless I say otherwise; and someone else may be quicker once more.
    expect(await choice("Code: Stored now").isChecked()).toBe(true);
    await choice("Code: Yours").check();
    await ben.call("PATCH", `${path}/${id}`, { Email: "mill@example.com" });
    await view.button("Save the chosen values").click();
    await view.page.getByRole("dialog").getByText("was changed by someone else").waitFor();
    await view.button("Save the chosen values").click();
    await view.page.getByRole("alert").getByText("Saved").waitFor();
    expect((await ben.call("GET", `${path}/${id}`)).json.record).toMatchObject({
      Name: "Mill of anna",
      Code: "A",
      Manager: "Ms A",
      Email: "mill@example.com",
      Telephone: { Daytime: "11", Evening: "22 of ben" },
    });
    await view.finish(/412/);
  });

  test("does not take away what one is typing, when the page is read again", async () => {
    const id = await addBrand("Zeta");
    const view = await openConsole(browser, server);
    await view.show(`shop/brands/${id}`);
    await view.field(/^Name/).fill("Zeta of anna");
    await ben.call("PATCH", `${brandsPath}/${id}`, { Name: "Zeta of ben" });
    const read = view.page.waitForResponse(/brands\?/);
    await view.page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))");
    await read;
    await view.page.getByRole("cell", { name: "Zeta of ben", includeHidden: true }).waitFor();
    expect(await view.field(/^Name/).inputValue()).toBe("Zeta of anna");
    await view.page.keyboard.press("Escape");
    await view.button("Discard").click();
    await view.finish();
  });

  test("stays when one discards what one has typed", async () => {
    const id = await addBrand("Beta");
    const view = await openConsole(browser, server, phone);
    await view.show(`shop/brands/${id}`);
    await view.field(/^Name/).fill("Beta of anna");
    await ben.call("PATCH", `${brandsPath}/${id}`, { Name: "Beta of ben" });
    await view.button("Save").click();
    await view.button("Discard mine").click();
    await view.page.getByRole("heading", { name: "Beta of ben" }).waitFor();
    expect(await view.field(/^Name/).inputValue()).toBe("Beta of ben");
    expect((await brandOf(id)).Name).toBe("Beta of ben");
    await view.finish(/412/);
  });
});

test("a session that ends loses nothing that was typed", async () => {
  const id = await addBrand("Gamma");
  const view = await openConsole(browser, server, { operator: "carla" });
  await view.show(`shop/brands/${id}`);
  await view.field(/^Name/).fill("Gamma of carla");
  const { call } = await server.signIn("carla");
  await call("DELETE", "/sessions");
  await view.button("Save").click();
  await view.page.getByText("Your session has ended").waitFor();
  await view.field("Link").fill(await server.link("carla"));
  await view.button("Sign in").click();
  await view.page.getByText("Your session has ended").waitFor({ state: "hidden" });
  await view.page.getByRole("alert").getByText("Saved").waitFor();
  expect((await brandOf(id)).Name).toBe("Gamma of carla");
  await view.finish(/401/);
});

test("a server that is gone for a while loses nothing that was typed", async () => {
  const id = await addBrand("Delta");
  const view = await openConsole(browser, server);
  await view.show(`shop/brands/${id}`);
  await view.field(/^Name/).fill("Delta of anna");
  const restart = await server.stopAdmin();
  await view.button("Save").click();
  await view.page.getByRole("alert").getByText("cannot be reached").waitFor();
  await restart();
  expect(await view.field(/^Name/).inputValue()).toBe("Delta of anna");
  await view.button("Save").click();
  await view.page.getByRole("alert").getByText("Saved").waitFor();
  expect((await brandOf(id)).Name).toBe("Delta of anna");
  await view.finish(/ERR_|Failed to fetch/);
});

test("an operator of one site sees that one only", async () => {
  await addBrand("Epsilon");
  const view = await openConsole(browser, server, { operator: "dora", sites: ["toys"] });
  expect(new URL(view.page.url()).hash).toStartWith("#/toys");
  await view.page.getByRole("combobox").first().click();
  expect(await view.page.getByRole("option").allInnerTexts()).toEqual(["toys"]);
  await view.page.keyboard.press("Escape");
  await view.show("shop/brands");
  expect(await view.page.locator("body").innerText()).not.toContain("Epsilon");
  await view.finish();
});

describe.each([
  ["<script>alert(1)</script>"],
  ["=cmd|'/C calc'!A0"],
  ["<img src=x onerror=alert(1)>"],
])("a brand named %s", (name) => {
  test("is text everywhere", async () => {
    const id = await addBrand(name);
    const view = await openConsole(browser, server, phone);
    let alerts = 0;
    view.page.on("dialog", (dialog) => {
      alerts++;
      void dialog.dismiss();
    });
    await view.page.getByText(`Created the brand ${name}`).waitFor();
    await view.show("shop/history");
    await view.page.getByText(`Created the brand ${name}`).first().waitFor();
    await view.show("shop/brands");
    await view.page.getByText(name, { exact: true }).first().click();
    await view.page.getByRole("heading", { name, exact: true }).waitFor();
    expect(await view.field(/^Name/).inputValue()).toBe(name);
    await view.button("Delete").click();
    await view.page.getByRole("button", { name: "Confirm" }).click();
    await view.page.getByRole("alert").getByText("deleted").waitFor();
    expect((await ben.call("GET", `${brandsPath}/${id}`)).status).toBe(404);
    expect(alerts).toBe(0);
    await view.finish();
  });
});
