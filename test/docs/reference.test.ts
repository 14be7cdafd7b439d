// The pages in a real browser.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { openBrowser, openPage, type Watched } from "../support/browser.ts";
import { type DemoServer, startDemoServer } from "../support/demo-server.ts";

let server: DemoServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startDemoServer(), openBrowser()]);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const sizes = [
  ["a desktop", 1280, 900],
  ["a phone", 390, 844],
] as const;

for (const [device, width, height] of sizes) {
  describe(`on ${device}`, () => {
    test("the reference shows its operations, and sends requests to no other host", async () => {
      const watched = await openPage(browser, server.url, width, height);
      await watched.page.goto(`${server.url}/docs`);
      await watched.page.getByRole("heading", { name: "Storefront", level: 1 }).waitFor();
      await watched.page.getByText("Order statuses in XML").first().waitFor({ state: "attached" });
      await expectQuiet(watched);
    }, 120_000);

    test("the pages of the guide fit, and contain the URL of their server", async () => {
      const watched = await openPage(browser, server.url, width, height);
      for (const path of ["/", "/docs/getting-started", "/docs/formats", "/docs/problems/not-found"]) {
        await watched.page.goto(server.url + path);
        expect(await watched.page.locator("pre").first().textContent()).not.toContain("127.0.0.1:8080");
      }
      await expectQuiet(watched);
    }, 120_000);
  });
}

test("the form of an operation sends a request with a pasted key, and its curl line works when pasted", async () => {
  const watched = await openPage(browser, server.url, 1280, 900);
  const { page } = watched;
  await page.goto(`${server.url}/docs`);
  await page.locator("input.scalar-password-input:visible").first().fill(server.key);
  await page.goto(`${server.url}/docs#tag/order-statuses/GET/restapi/orderstatuses.json`);
  await page.getByRole("button", { name: /^Test Request\s*\(get \/restapi\/orderstatuses\.json\)/ }).click();
  const received = page.waitForResponse(`${server.url}/restapi/orderstatuses.json`);
  await page.getByRole("button", { name: /^Send/ }).first().click();
  expect((await received).status()).toBe(200);
  await page.getByText('"Dispatched"').last().waitFor();
  const lines = await page.locator("pre", { hasText: "curl" }).allTextContents();
  const line = lines.find((text) => text.includes("/restapi/orderstatuses.json") && !text.includes("--request")) ?? "";
  const pasted = line.replace("YOUR_SECRET_TOKEN", server.key);
  expect(Bun.spawnSync(["bash", "-c", pasted]).stdout.toString()).toContain('"Name":"Dispatched"');
  await expectQuiet(watched);
}, 120_000);

test("the form of an operation in XML sends XML, and shows the response: the record, or the problem", async () => {
  const watched = await openPage(browser, server.url, 1280, 900);
  const { page } = watched;
  const path = "/restapi/orderstatuses.xml";
  await page.goto(`${server.url}/docs`);
  await page.goto(`${server.url}/docs#tag/order-statuses-in-xml/POST${path}`);
  await page.getByRole("button", { name: /^Test Request\s*\(post \/restapi\/orderstatuses\.xml\)/ }).click();
  for (const [key, status, shown] of [
    [server.key, 201, '<OrderStatus ID="6">'],
    ["wrong", 401, "/docs/problems/unauthorized"],
  ] as const) {
    await page.locator("input.scalar-password-input:visible, [type=password]:visible").last().fill(key);
    const [sent, received] = [page.waitForRequest(server.url + path), page.waitForResponse(server.url + path)];
    await page.getByRole("button", { name: /^Send/ }).first().click();
    expect((await sent).headers()["content-type"]).toBe("application/xml");
    expect((await received).status()).toBe(status);
    await page.getByText(shown).last().waitFor();
    expect(await page.getByText("Binary file").count()).toBe(0);
  }
  expect(watched.strangers).toEqual([]);
}, 120_000);

async function expectQuiet({ page, errors, strangers }: Watched): Promise<void> {
  await page.waitForLoadState("networkidle");
  expect(errors).toEqual([]);
  expect(strangers).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
}
