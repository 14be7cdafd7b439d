// The page of the operators in a real browser.

import { afterAll, expect, test } from "bun:test";
import { listOperators, setOperator } from "../../../../src/operator/operators/operators.ts";
import { createSite } from "../../../../src/operator/sites/sites.ts";
import { openBrowser } from "../../../support/console/browser.ts";
import { desktop, openConsole, phone } from "../../../support/console/page.ts";
import { startTestConsole } from "../../../support/console/server.ts";
import { createTestWebhook } from "../../../support/webhooks/test-webhook.ts";

const [server, browser] = await Promise.all([startTestConsole(), openBrowser()]);
await createSite(server.engine, "toys", {}, Date.now());
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const sitesOf = async (name: string) =>
  (await listOperators(server.engine)).find((operator) => operator.Name === name)?.siteNames;

test.each([
  ["at a desk", desktop],
  ["on a phone", phone],
])("the sites of an operator are changed %s, with effect on the next request", async (place, size) => {
  const name = `ben ${place}`;
  const ben = await server.signIn(name, ["shop"]);
  const view = await openConsole(browser, server, size);
  await view.show("shop/operators");
  await view.act(name, "Edit");
  const dialog = view.page.getByRole("dialog");
  await dialog.getByRole("combobox").fill("toy");
  await view.page.getByRole("option", { name: "toys" }).click();
  await dialog.getByText(`Edit access for ${name}`).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  const listed = view.page.getByRole(size === phone ? "listitem" : "row").filter({ hasText: name });
  await listed.getByText("shop, toys").waitFor();
  expect((await ben.call("GET", "/sites/toys/records/brands")).status).toBe(200);
  await view.finish();
});

test("the last operator of all sites gets a warning before limiting their own sites", async () => {
  const view = await openConsole(browser, server, desktop);
  await view.show("shop/operators");
  await view.act("anna", "Edit");
  const dialog = view.page.getByRole("dialog");
  await dialog.getByRole("radio", { name: "Only these sites" }).check();
  await dialog.getByText("You’re removing your own permission").waitFor();
  await dialog.getByText("only admin of all sites").waitFor();
  await dialog.getByRole("combobox").fill("toy");
  await view.page.getByRole("option", { name: "toys" }).click();
  await dialog.getByText("Edit access for anna").click();
  await dialog.getByRole("button", { name: "Limit anyway" }).click();
  await dialog.waitFor({ state: "hidden" });
  expect(await sitesOf("anna")).toEqual(["toys"]);
  await view.finish(/403|404|Forbidden|Not Found/);
});

test("someone with the role Viewer sees all pages and changes nothing; someone with the role Editor has no keys and people", async () => {
  await server.call("POST", "/restapi/brands.json", { body: { Name: "Alder" } });
  const { webhook } = await createTestWebhook(server.engine, server.site.ID, "http://127.0.0.1:9/");
  await (await server.signIn("anna")).call("POST", `/sites/shop/webhooks/${webhook}/pause`, {});
  await server.addOperator("rita", [], "viewer");
  const view = await openConsole(browser, server, { ...desktop, operator: "rita" });
  const main = view.page.locator("#main-content");
  await main.getByRole("link", { name: "View" }).waitFor();
  for (const [path, title, changing] of [
    ["keys", "API keys", /Create key|Actions/],
    ["sites", "Sites", /Add site|Actions/],
    ["webhooks", "Webhooks", /Add webhook|Retry|Send|Pause|Resume|Actions|More/],
    ["import", "Import and export", /Choose a file/],
    ["operators", "People", /Add operator|Actions/],
  ] as const) {
    await view.show(`shop/${path}`);
    await main.getByRole("heading", { name: title }).waitFor();
    await main.getByText("Your role (Viewer) lets you view this page but not change anything.").waitFor();
    expect([path, await main.getByRole("button", { name: changing }).count()]).toEqual([path, 0]);
  }
  await view.show("shop/brands/1");
  expect(await view.field(/^Name/).inputValue()).toBe("Alder");
  expect(await view.field(/^Name/).isEditable()).toBe(false);
  expect(await view.button(/Save|Delete/).count()).toBe(0);
  await view.show("shop/brands");
  await main.getByRole("link", { name: "Alder" }).waitFor();
  // Whoever may only look can choose what to export.
  await main.getByRole("row", { name: "Alder" }).getByRole("checkbox").check();
  await main.getByRole("button", { name: "Export" }).waitFor();
  expect(await main.getByRole("button", { name: /Delete|Edit a field/ }).count()).toBe(0);
  await main.getByRole("button", { name: "Clear selection" }).click();
  expect(
    await view
      .button(/New brand/)
      .or(view.page.getByRole("link", { name: /New brand/ }))
      .count(),
  ).toBe(0);
  await view.finish();
  await server.addOperator("tom", [], "editor");
  const other = await openConsole(browser, server, { ...desktop, operator: "tom" });
  expect(await other.page.getByRole("menuitem", { name: /keys|Webhooks|People/ }).count()).toBe(0);
  await other.page.getByRole("link", { name: /\d brands/ }).waitFor();
  expect(await other.page.getByText(/\d webhooks?/).count()).toBe(0);
  for (const [path, title] of [
    ["keys", "API keys"],
    ["webhooks", "Webhooks"],
    ["operators", "People"],
  ] as const) {
    await other.show(`shop/${path}`);
    await other.page.getByRole("heading", { name: title }).waitFor();
    await other.page.getByText("You don’t have access to this page").waitFor();
  }
  // A role that changes while the page is open applies to the next request, which also tells the page.
  await setOperator(server.engine, "tom", { role: "admin" }, Date.now());
  await other.page.reload();
  await other.show("shop/keys");
  await other.button("Create key").click();
  await other.field("Name").fill("late");
  await setOperator(server.engine, "tom", { role: "viewer" }, Date.now(), { mayBeLast: true });
  await other.button("Create").click();
  const dialog = other.page.getByRole("dialog");
  await dialog.getByText("Your role doesn't let you change keys, webhooks, sites and operators").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await other.page.getByText("Your role (Viewer)").waitFor();
  expect(await other.button("Create key").count()).toBe(0);
  await other.finish(/403/);
});
