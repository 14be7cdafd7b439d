// Uses every button and every choice of the pages of keys, requests, webhooks, sites and operators once. The last test names the buttons and choices that
// were shown and not used.

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { publicResources } from "../../../../src/model/resource.ts";
import type { WebhookState } from "../../../../src/model/webhooks.ts";
import { listSites } from "../../../../src/operator/sites/sites.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { type ControlsPage, controlsOf, listUnusedInSettings, useControls } from "../../../support/console/controls.ts";
import type { ConsolePage } from "../../../support/console/page.ts";
import type { Pressed } from "../../../support/console/pressed.ts";
import type { ConsoleClient } from "../../../support/console/server.ts";
import { waitUntil } from "../../../support/time.ts";
import { startReceiver } from "../../../support/webhooks/receiver.ts";
import { createTestWebhook } from "../../../support/webhooks/test-webhook.ts";

setDefaultTimeout(120_000);

const resources = publicResources(allResources);

let server: ControlsPage["server"];
let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
let pressed: Pressed;
let dialog: ReturnType<typeof controlsOf>["dialog"];
let chooseEach: ReturnType<typeof controlsOf>["chooseEach"];
let click: ReturnType<typeof controlsOf>["click"];
let choose: ReturnType<typeof controlsOf>["choose"];
let closed: ReturnType<typeof controlsOf>["closed"];
let said: ReturnType<typeof controlsOf>["said"];
useControls((opened) => {
  ({ server, view, page, ben, pressed } = opened);
  ({ dialog, chooseEach, click, choose, closed, said } = controlsOf(opened));
});
const receiver = await startReceiver();
afterAll(() => receiver.stop());

const get = async (path: string) => (await ben.call("GET", path)).json;

test("a key is created, copied, changed, replaced and revoked", async () => {
  await view.show("shop/keys");
  await click("Create key");
  await view.field("Name").fill("everything");
  await dialog().getByRole("combobox", { name: "Access", exact: true }).click();
  await page.getByRole("option", { name: "Custom", exact: true }).click();
  for (const box of await dialog().getByRole("checkbox").all()) await box.check();
  await dialog().getByLabel("Only from these networks").fill("127.0.0.1\n::1");
  await choose("Create");
  await view.field("Key").waitFor();
  const [whole] = (await get("/sites/shop/keys")).keys.filter((one: { label: string }) => one.label === "everything");
  expect(whole).toMatchObject({ scope: null, networks: ["127.0.0.1/32", "::1/128"] });
  expect(whole.rights).toContain("webhooks:write");
  await choose("Done");
  await closed();
  await view.act(/everything/, "Revoke");
  await choose("Revoke");
  await closed();
  await click("Create key");
  await view.field("Name").fill("everything");
  await chooseEach("Access");
  await dialog().getByLabel("Rate limit (requests per second)").fill("7");
  await dialog().getByLabel("Expires").fill("2099-12-31");
  await choose("Create");
  const key = await view.field("Key").inputValue();
  const [created] = (await get("/sites/shop/keys")).keys.filter(
    ({ label, id }: { label: string; id: number }) => label === "everything" && id !== whole.id,
  );
  expect(created).toMatchObject({ scope: "read", rate: 7 });
  const expires = new Date(created.expires);
  expect([expires.getFullYear(), expires.getMonth(), expires.getDate()]).toEqual([2099, 11, 31]);
  for (const button of await dialog().getByRole("button", { name: /^Copy/ }).all()) await button.click();
  expect(await page.evaluate<string>("navigator.clipboard.readText()")).toContain(key);
  await choose("Done");
  await closed();
  await view.act(/everything/, "Edit");
  expect(await dialog().getByLabel("Expires").inputValue()).toBe("2099-12-31");
  await view.field("Name").fill("everything else");
  await choose("Save");
  await closed();
  const { keys } = await get("/sites/shop/keys");
  expect(keys).toContainEqual({ ...created, label: "everything else" });
  const changed = page.getByRole("row").filter({ hasText: "everything else" });
  await view.act(/everything else/, "Rotate");
  expect(await chooseEach("The old key stops working")).toEqual([
    "Immediately",
    "After 1 hour",
    "After 24 hours",
    "After a week",
  ]);
  await choose("Rotate");
  await choose("Done");
  await closed();
  // The old key and the new one name each other.
  await changed.getByText(/^Replaces sfk_/).waitFor();
  await changed.getByText(/^Replaced by sfk_/).waitFor();
  await view.act(/everything else/, "Revoke");
  await choose("Cancel");
  await view.act(/everything else/, "Revoke");
  await dialog().getByText("It has never been used.").waitFor();
  await choose("Revoke");
  await changed.getByText("Revoked").first().waitFor();
});

test("a webhook is added, tested, retried, changed, paused, resumed, rewound and removed, shows its deliveries, and gets a new secret", async () => {
  const ref = await createTestWebhook(server.engine, server.site.ID, receiver.url);
  const local = ref.webhook;
  const of = async (id: number) =>
    (await get("/sites/shop/webhooks")).webhooks.find((one: { id: number }) => one.id === id);
  await waitUntil(async () => (await of(local)).behind === 0, "the deliveries");
  await view.show("shop/webhooks");
  const card = page.getByRole("article", { name: receiver.url });
  const press = (name: string) => card.getByRole("button", { name, exact: true }).click();
  const more = (name: string) => view.act(receiver.url, name);
  await press("Deliveries");
  await card.getByRole("table", { name: "Deliveries" }).getByRole("button").first().click();
  await dialog().getByText("webhook-signature: v1,").waitFor();
  await dialog().getByRole("heading", { name: "Response" }).waitFor();
  await choose("Close");
  await closed();
  await press("Deliveries");
  await press("Send test");
  await said("Test delivered (200).");
  await page.getByRole("alert").getByRole("button", { name: "Close" }).last().click();
  receiver.respond(500);
  await ben.call("POST", "/sites/shop/records/brands", { Name: "Zeta 99" });
  await card.getByText("The receiver responded with 500").waitFor();
  const [state] = await server.engine.readWebhookStates([ref]);
  const { cursor, rewinds, resumes } = state as WebhookState;
  await server.engine.compareAndSetWebhook(ref, { cursor, rewinds, resumes }, { nextAt: Date.now() + 3_600_000 });
  // The last attempt was a minute ago.
  const attempt = { at: Date.now() - 60_000, status: 500, milliseconds: 1, fault: "the receiver responded with 500" };
  await server.engine.addWebhookAttempt(ref, attempt);
  receiver.respond(200);
  await press("Retry now");
  await card.getByText("Active", { exact: true }).waitFor();
  await more("Pause");
  await card.getByText("Paused", { exact: true }).waitFor();
  expect(await of(local)).toMatchObject({ status: "paused" });
  await press("Resume");
  await card.getByText("Active", { exact: true }).waitFor();
  const before = receiver.events.length;
  await more("Resend");
  await dialog().getByLabel("Since").fill("2020-01-01T00:00");
  await choose("Resend");
  await closed();
  await waitUntil(() => receiver.events.length > before, "the repeated delivery");
  await more("Rotate secret");
  await choose("Rotate secret");
  await dialog().getByRole("button", { name: /^Copy/ }).click();
  expect(await page.evaluate<string>("navigator.clipboard.readText()")).toStartWith("whsec_");
  await choose("Done");
  await more("Remove");
  await choose("Cancel");
  await more("Remove");
  await choose("Remove");
  await card.waitFor({ state: "hidden" });
  await click("Add webhook");
  await dialog().getByLabel("URL").fill("https://203.0.113.9/hooks");
  for (const { plural } of resources.slice(1)) await dialog().getByRole("checkbox", { name: plural }).uncheck();
  for (const isSent of [false, true])
    await dialog()
      .getByRole("checkbox", { name: resources[0]?.plural ?? "" })
      .setChecked(isSent);
  await choose("Add");
  await choose("Done");
  await page.getByText(`${resources[0]?.plural} only`).waitFor();
  await view.act("https://203.0.113.9/hooks", "Change URL");
  await dialog().getByLabel("URL").fill("https://203.0.113.9/other");
  await choose("Save");
  await page.getByRole("article", { name: "https://203.0.113.9/other" }).waitFor();
});

test("requests are listed while the page is open, filtered, paused and opened, with a line that repeats one", async () => {
  await view.show("shop/requests");
  await page.getByText("No requests yet").waitFor();
  await page.getByRole("main").getByRole("button", { name: /^Copy/ }).click();
  expect(await page.evaluate<string>("navigator.clipboard.readText()")).toContain("/restapi/brands.json?limit=3'");
  const key = await server.issueKey({ label: "till" });
  await server.call("GET", "/restapi/brands/1.json", { key });
  await server.call("GET", "/restapi/brands/9999.json", { key });
  await server.call("POST", "/restapi/brands.json", { key, body: { Town: "Ulm" } });
  const rows = page.getByRole("table", { name: "Requests" }).locator("tbody").getByRole("row");
  await waitUntil(async () => (await rows.count()) === 3, "three requests");
  expect(await chooseEach("Status")).toEqual([
    "All",
    "Success (2xx)",
    "Not modified (3xx)",
    "Rejected (4xx)",
    "Server error (5xx)",
  ]);
  await chooseEach("Problem");
  expect(await chooseEach("Key")).toEqual(["All", "till"]);
  await view.show("shop/requests?status=5&key=sfk_none0000");
  await click("Clear filters");
  await view.show("shop/requests?status=4&problem=not-found");
  await waitUntil(async () => (await rows.count()) === 1, "the request that was not found");
  await click("Clear filters");
  await click("Pause");
  await click("Resume");
  await rows.filter({ hasText: "POST" }).getByRole("button").click();
  await dialog().getByText("a value is required").waitFor();
  const explanation = page.context().waitForEvent("page");
  await dialog().getByRole("link", { name: "Learn more about this problem" }).click();
  const explained = await explanation;
  await explained.waitForURL(`${server.url}/docs/problems/invalid-record`);
  await explained.close();
  await choose(/^Copy/);
  const line = await page.evaluate<string>("navigator.clipboard.readText()");
  expect(line).toContain("curl -i -X POST");
  expect(line).not.toContain(key.slice(0, 12));
  await choose("Close");
  await closed();
});

test("a site is added, changed, suspended, resumed and removed", async () => {
  const of = async (name: string) => (await listSites(server.engine)).find(({ Name }) => Name === name);
  await view.show("shop/sites");
  await click("Add site");
  await view.field(/^Name/).fill("toys");
  await view.field(/^Hostnames/).fill("toys.example");
  // Otherwise the browser would mark each hostname as a misspelled word.
  expect(await view.field(/^Hostnames/).getAttribute("spellcheck")).toBe("false");
  await dialog().getByLabel("Use for any hostname").check();
  await dialog().getByLabel("Create an API key with read access").check();
  await choose("Add");
  await choose(/^Copy/);
  await choose("Done");
  await closed();
  await view.act("toys", "Edit");
  await view.field(/^Hostnames/).fill("toys.example\nplay.example");
  await choose("Save");
  await page.getByText("toys.example, play.example").waitFor();
  const row = page.getByRole("row").filter({ hasText: "toys.example" });
  await view.act("toys", "Suspend");
  await dialog().getByText("1 key will stop working").waitFor();
  await choose("Suspend");
  await row.getByText("Suspended").waitFor();
  expect((await of("toys"))?.Suspended).not.toBe("");
  await view.act("toys", "Resume");
  await choose("Resume");
  await row.getByText("Suspended").waitFor({ state: "hidden" });
  await view.act("toys", "Create sandbox");
  await choose("Create");
  await page.waitForURL(/#\/toys-sandbox\/keys$/);
  await page.getByText("You’re in the sandbox of “toys”").waitFor();
  // The page stays with a site, or with its sandbox, when the site gets another name.
  const rename = async (from: string, to: string) => {
    await view.act(from, "Edit");
    await view.field(/^Name/).fill(to);
    await choose("Save");
  };
  await view.show("toys-sandbox/sites");
  await rename("toys", "garden");
  await page.waitForURL(/#\/garden-sandbox\/sites$/);
  await view.show("garden/sites");
  await rename("garden", "toys");
  await page.waitForURL(/#\/toys\/sites$/);
  await view.show("shop/sites");
  const copying = Promise.withResolvers<void>();
  await page.route("**/sites/toys/sandbox", async (route) => {
    await copying.promise;
    await route.continue();
  });
  await view.act("toys-sandbox", "Refresh sandbox");
  await choose("Refresh sandbox");
  await dialog().getByRole("progressbar", { name: "Copying records" }).waitFor();
  await choose("Close");
  await closed();
  copying.resolve();
  await said("The sandbox of “toys” is ready. Records copied: 0");
  await page.locator("[data-notices]").getByRole("button", { name: "Close" }).first().click();
  await page.getByRole("link", { name: "toys", exact: true }).click();
  await page.waitForURL(/#\/toys$/);
  await view.show("shop/sites");
  await view.act("toys", "Remove");
  await choose("Cancel");
  await view.act("toys", "Remove");
  await dialog().getByText("1 API key (the app that uses it will lose access)").waitFor();
  await dialog().getByText("its sandbox “toys-sandbox”, with all records, keys and webhooks").waitFor();
  await view.field("Type toys to confirm").fill("toys");
  await choose("Remove");
  await closed();
  await row.waitFor({ state: "hidden" });
  expect([await of("toys"), await of("toys-sandbox")]).toEqual([undefined, undefined]);
});

test("an operator is added, gets a link and other sites, is signed out, and removed", async () => {
  await view.show("shop/sites");
  await view.act("outlet", "Create sandbox");
  await choose("Create");
  await page.waitForURL(/#\/outlet-sandbox\/keys$/);
  await view.show("shop/operators");
  await click("Add operator");
  await view.field(/^Name/).fill("carla");
  // Least rights first.
  expect(await dialog().getByRole("radio", { checked: true }).count()).toBe(2);
  expect(await dialog().getByRole("radio", { name: "Viewer" }).isChecked()).toBe(true);
  await dialog().getByRole("radio", { name: "Admin" }).check();
  await dialog()
    .getByRole("radio", { name: /^All sites/ })
    .check();
  await dialog().getByRole("radio", { name: "Only these sites" }).check();
  await choose("Open");
  await page.getByRole("option", { name: "shop" }).click();
  await choose("Close");
  // The button is visible while the pointer is over the field.
  await dialog().getByRole("combobox", { name: "Sites" }).hover();
  await choose("Clear");
  await dialog().getByRole("combobox", { name: "Sites" }).fill("out");
  // An operator of a site may also manage its sandbox, so sandboxes cannot be chosen.
  expect(await page.getByRole("option").allTextContents()).toEqual(["outlet"]);
  await page.getByRole("option", { name: "outlet" }).click();
  await choose("Close");
  for (const role of ["Viewer", "Editor"]) await dialog().getByRole("radio", { name: role }).check();
  await choose("Add");
  await page.getByRole("dialog", { name: "carla was added" }).waitFor();
  await choose("Create sign-in link");
  expect(await view.field("Link").inputValue()).toContain("#sign-in=");
  await choose("Done");
  await closed();
  await view.act("carla", "Create sign-in link");
  await dialog().getByRole("button", { name: /^Copy/ }).click();
  expect(await page.evaluate<string>("navigator.clipboard.readText()")).toContain("#sign-in=");
  await choose("Done");
  const carla = await server.signIn("carla");
  expect((await carla.call("GET", "/sites/outlet/keys")).status).toBe(403);
  await view.act("carla", "Edit");
  await dialog()
    .getByRole("radio", { name: /^All sites/ })
    .check();
  expect(
    await dialog()
      .getByRole("radio", { name: /^Editor/ })
      .isChecked(),
  ).toBe(true);
  await dialog()
    .getByRole("radio", { name: /^Admin/ })
    .check();
  await choose("Save");
  await closed();
  expect((await carla.call("GET", "/operators")).status).toBe(200);
  await view.act("carla", "Sign out of all devices");
  await choose("Sign out of all devices");
  await closed();
  expect((await carla.call("GET", "/operators")).status).toBe(401);
  await view.act("carla", "Remove");
  await choose("Cancel");
  await view.act("carla", "Remove");
  await choose("Remove");
  await closed();
  await view.button("Actions for carla").waitFor({ state: "hidden" });
});

test("no other button or choice was shown", async () => {
  expect(await listUnusedInSettings(pressed)).toEqual([]);
});
