// The pages in a real browser.

import { afterAll, describe, expect, test } from "bun:test";
import type { Dialog, Page } from "playwright-core";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { openBrowser, openPage, type Watched } from "../../support/console/browser.ts";
import { startDemo, startDemoServer } from "../../support/programs/demo-server.ts";

const [server, browser] = await Promise.all([startDemoServer(), openBrowser()]);
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
    test("the reference shows its operations in one response, and sends requests to no other host", async () => {
      const watched = await openPage(browser, server.url, width, height);
      const { page } = watched;
      await page.goto(`${server.url}/docs`, { waitUntil: "domcontentloaded" });
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Reference");
      expect(await page.getByRole("heading", { name: "Create an order status", level: 3 }).isVisible()).toBe(true);
      expect(await page.getByText("filter[Name][contains]=acm").first().isVisible()).toBe(true);
      expect(await page.getByText("/restapi/brands/{id}.xml").first().isVisible()).toBe(false);
      expect(await page.getByText("with the ID in the body").first().isVisible()).toBe(false);
      for (const [section, path] of [
        ["Guide", "/docs/guide"],
        ["Storefront", "/"],
      ] as const)
        expect(await page.getByRole("banner").getByRole("link", { name: section }).getAttribute("href")).toBe(path);
      await expectQuiet(watched);
    }, 120_000);

    test("the pages of the guide fit, and contain the URL of their server", async () => {
      const watched = await openPage(browser, server.url, width, height);
      for (const path of ["/", "/docs/getting-started", "/docs/formats", "/docs/problems/not-found"]) {
        await watched.page.goto(server.url + path);
        const examples = await watched.page.locator("pre").allTextContents();
        expect(examples.join()).not.toContain("127.0.0.1:8080");
      }
      await expectQuiet(watched);
    }, 120_000);
  });
}

test("the form of an operation sends a request with a pasted key, and its code works in every language", async () => {
  const watched = await openPage(browser, server.url, 1280, 900);
  const { page } = watched;
  await page.goto(`${server.url}/docs`);
  await page.locator("#key").fill(server.key);
  const form = await openForm(page, "listOrderStatuses");
  await form.getByLabel("filter").fill("filter[Name][contains]=disp&filter[ID][in]=3,4");
  await form.getByLabel("fields").fill("Name");
  await form.getByRole("button", { name: "Send" }).click();
  await form.locator(".result").getByText('"Dispatched"').waitFor();
  expect(await form.locator(".result").textContent()).toContain("x-total-count: 1");
  const line = await codeOf(page, "listOrderStatuses");
  expect(line).toContain("filter[Name][contains]=disp");
  for (const key of [server.key, ""]) {
    await page.locator("#key").fill(key);
    for (const language of Object.keys(runners)) {
      await page.locator("#listOrderStatuses").getByRole("button", { name: language, exact: true }).click();
      const code = await codeOf(page, "listOrderStatuses");
      expect([language, code.includes(server.key)]).toEqual([language, key !== ""]);
      expect([language, runCode(code, language)]).toEqual([
        language,
        expect.stringContaining('[{"ID":3,"Name":"Dispatched"}]'),
      ]);
    }
  }
  await expectQuiet(watched);
}, 120_000);

test("the code of a write keeps every character of its body and headers, in every language", async () => {
  const { page } = await openPage(browser, server.url, 1280, 900);
  await page.goto(`${server.url}/docs`);
  const name = 'It\'s "on" \\ `$KEY` §{x} """ \'\'\' é 😀'.replace("§", "$");
  const form = await openForm(page, "createOrderStatus");
  await form.getByLabel("Body in JSON").fill(JSON.stringify({ Name: name }));
  await form.getByLabel("Idempotency-Key").fill('it\'s "a" \\ $KEY');
  await form.getByRole("switch", { name: "dryRun" }).check();
  for (const language of Object.keys(runners)) {
    await page.locator("#createOrderStatus").getByRole("button", { name: language, exact: true }).click();
    const output = runCode(await codeOf(page, "createOrderStatus"), language);
    expect([language, output]).toEqual([language, expect.stringContaining(JSON.stringify(name))]);
  }
  await page.context().close();
}, 120_000);

/** How to run code in each language, by the name on its button. */
const runners: Record<string, readonly string[]> = {
  curl: ["bash", "-c"],
  JavaScript: ["node", "--input-type=module", "-e"],
  Python: ["python3", "-c"],
  ...(Bun.which("php") ? { PHP: ["php", "-r"] } : {}),
};

function runCode(code: string, language: string): string {
  const command = [...(runners[language] as readonly string[]), code.replace("<?php\n", "")];
  const { stdout, stderr } = Bun.spawnSync(command, { env: { ...process.env, KEY: server.key } });
  return stdout.toString() || stderr.toString();
}

/** The code beside an operation, for its form as it's filled in. */
async function codeOf(page: Page, operation: string): Promise<string> {
  return (await page.locator(`#${operation} .line`).textContent()) as string;
}

test("the form of an operation in XML sends XML, and shows the response: the record, or the problem", async () => {
  const watched = await openPage(browser, server.url, 1280, 900);
  const { page } = watched;
  const path = "/restapi/orderstatuses.xml";
  await page.goto(`${server.url}/docs`);
  await page.locator("#createOrderStatus").getByRole("button", { name: "XML" }).click();
  const form = await openForm(page, "createOrderStatus");
  const body = form.getByLabel("Body in XML");
  await body.fill(`<OrderStatus><Name>It's &amp; "on" $KEY</Name></OrderStatus>`);
  for (const [key, status, shown] of [
    [server.key, 201, '<OrderStatus ID="6">'],
    ["wrong", 401, "/docs/problems/unauthorized"],
  ] as const) {
    await page.locator("#key").fill(key);
    const [sent, received] = [page.waitForRequest(server.url + path), page.waitForResponse(server.url + path)];
    await form.getByRole("button", { name: "Send" }).click();
    expect((await sent).headers()["content-type"]).toBe("application/xml");
    expect((await received).status()).toBe(status);
    await form.locator(".result").getByText(shown).waitFor();
  }
  await page.locator("#key").fill("");
  const pasted = runCode(await codeOf(page, "createOrderStatus"), "curl");
  expect(pasted).toContain(`<Name>It's &amp; "on" $KEY</Name>`);
  expect(watched.foreignRequests).toEqual([]);
}, 120_000);

test("a form escapes each character of a filter once", async () => {
  const { page } = await openPage(browser, server.url, 1280, 900);
  await page.goto(`${server.url}/docs`);
  const names = ["R&D #1", "50% + 1 = x", "a%20b&c", "[Ünï] '\\\"?/", "é&filter", "a,b;c"];
  const create = async (Name: string) => {
    const headers = { "X-API-AUTH": server.key };
    const response = await fetch(`${server.url}/restapi/brands.json`, {
      method: "POST",
      headers,
      body: JSON.stringify({ Name }),
    });
    return ((await response.json()) as { ID: number }).ID;
  };
  const form = await openForm(page, "listBrands");
  for (const name of names) {
    const id = await create(name);
    await form.getByLabel("filter").fill(`filter[Name]=${name}&filter[ID][in]=${id},${id + 1}`);
    const pasted = runCode(await codeOf(page, "listBrands"), "curl");
    expect(JSON.parse(pasted).map(({ Name }: { Name: string }) => Name)).toEqual([name]);
  }
  await page.context().close();
}, 120_000);

test("with a live key, the reference says which site its forms change, and a delete asks first unless it's a dry run", async () => {
  const watched = await openPage(browser, server.url, 1280, 900);
  const { page } = watched;
  await page.goto(`${server.url}/docs`);
  const form = await openForm(page, "deleteBrand");
  const id = form.getByLabel("id", { exact: true });
  expect(await id.inputValue()).toBe("");
  expect(await form.locator(".writes").textContent()).toBe("This changes records on the site your key belongs to.");
  await page.locator("#key").fill(server.key);
  await page.locator("#key-meaning").getByText("It changes the live site demo.").waitFor();
  expect(await form.locator(".writes").textContent()).toBe("This changes the live site demo.");

  await id.fill("3");
  await form.getByRole("switch", { name: "dryRun" }).check();
  expect(await form.locator(".writes").isVisible()).toBe(false);
  await form.getByRole("button", { name: "Send" }).click();
  await form.locator(".result").getByText("Café Étoile").waitFor();
  await form.getByRole("switch", { name: "dryRun" }).uncheck();
  expect(await form.locator(".writes").isVisible()).toBe(true);
  page.once("dialog", (dialog) => dialog.dismiss());
  await form.getByRole("button", { name: "Send" }).click();
  await form.locator(".result").getByText("Nothing was deleted.").waitFor();
  const [dialog] = await Promise.all([
    new Promise<Dialog>((resolve) => page.once("dialog", resolve)).then(async (shown) => {
      await shown.accept();
      return shown;
    }),
    form.getByRole("button", { name: "Send" }).click(),
  ]);
  expect(dialog.message()).toBe("Delete this record from the live site demo?");
  await form.locator(".result").getByText("Café Étoile").waitFor();

  await page.goto(`${server.url}/docs/getting-started`);
  expect(await page.locator("#key").count()).toBe(0);
  expect(await page.evaluate<string>("JSON.stringify({ ...sessionStorage, ...localStorage })")).not.toContain("sfk_");
  await expectQuiet(watched);
}, 120_000);

test("with a sandbox key, the reference says that only the sandbox changes, and a delete does not ask", async () => {
  const demo = await startDemo();
  try {
    const { page } = await openPage(browser, demo.url, 375, 800);
    await page.goto(`${demo.url}/docs`);
    await page.locator("#key").fill(await demo.openSandbox());
    await page.locator("#key-meaning").getByText("It changes only the sandbox demo-sandbox.").waitFor();
    const form = await openForm(page, "deleteBrand");
    expect(await form.locator(".writes").textContent()).toBe("This changes only the sandbox demo-sandbox.");
    await form.getByLabel("id", { exact: true }).fill("3");
    await form.getByRole("button", { name: "Send" }).click();
    await form.locator(".result").getByText("Café Étoile").waitFor();
    await page.locator("#key").fill("sfk_notakey");
    expect(await page.locator("#key-meaning").textContent()).toContain("look like a complete key");
    expect(await form.locator(".writes").textContent()).toBe("This changes records on the site your key belongs to.");
    await page.locator("#key").fill(`sfk_${"x".repeat(42)}`);
    await page.locator("#key-meaning").getByText("The server rejected this key.").waitFor();
    const { site } = await makeSandbox(demo.engine, "demo", { now: Date.now });
    const readKey = (await createKey(demo.engine, site, { rights: ["read"] }, Date.now())).key;
    await page.locator("#key").fill(readKey);
    await page.locator("#key-meaning").getByText("It can only read the sandbox demo-sandbox.").waitFor();
    expect(await form.locator(".writes").textContent()).toBe("Your key is read-only, so the server will reject this.");
    const live = await fetch(`${demo.url}/restapi/brands/3.json`, { headers: { "X-API-AUTH": demo.key } });
    expect(live.status).toBe(200);
    await page.context().close();
  } finally {
    await demo.stop();
  }
}, 120_000);

test("a chosen language and format hold on every page, and copying gives the example of this server", async () => {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  await page.goto(`${server.url}/docs/getting-started`);
  expect(await page.getByText("curl -H").first().isVisible()).toBe(true);
  await page.getByRole("button", { name: "Python" }).first().click();
  expect(await page.getByText("curl -H").first().isVisible()).toBe(false);
  await page.goto(`${server.url}/docs/authentication`);
  expect(await page.getByRole("button", { name: "Python" }).first().getAttribute("aria-pressed")).toBe("true");
  await page.locator(".code.in-python").first().getByRole("button", { name: "Copy" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await page.evaluate<string>("navigator.clipboard.readText()");
  expect(copied).toStartWith("import json, os, urllib.request\n");
  expect(copied).toContain(`"${server.url}/restapi/brands/2.json"`);
  await page.goto(`${server.url}/docs`);
  await page.locator("#listBrands").getByRole("button", { name: "PHP" }).click();
  await page.goto(`${server.url}/docs/authentication`);
  // The page has no PHP.
  expect(await page.getByRole("button", { name: "curl" }).first().getAttribute("aria-pressed")).toBe("true");
  expect(await page.getByText("curl -H").first().isVisible()).toBe(true);
  await context.close();
}, 120_000);

test("without a script, every language and format is shown", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${server.url}/docs/getting-started`);
  for (const start of ["curl -H", "import { createClient }", "import json"])
    expect(await page.getByText(start).first().isVisible()).toBe(true);
  expect(await page.getByRole("button", { name: "Python" }).count()).toBe(0);
  await page.goto(`${server.url}/docs`);
  expect(await page.getByText("/restapi/brands/{id}.json").first().isVisible()).toBe(true);
  expect(await page.getByText("/restapi/brands/{id}.xml").first().isVisible()).toBe(true);
  await context.close();
}, 120_000);

/** Opens the form of an operation, and returns it. */
async function openForm(page: Page, operation: string) {
  const details = page.locator(`#${operation} .try`);
  await details.locator("summary").click();
  return details.locator("form");
}

async function expectQuiet({ page, errors, foreignRequests }: Watched): Promise<void> {
  await page.waitForLoadState("networkidle");
  expect(errors).toEqual([]);
  expect(foreignRequests).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
}
