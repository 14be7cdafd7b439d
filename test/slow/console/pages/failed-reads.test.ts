// A page of the console whose read fails shows the error, does not claim that it has no data, and offers to try again.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { openBrowser, openPage } from "../../../support/console/browser.ts";
import { startFilledSite } from "../../../support/console/filled-site.ts";
import { type ConsolePage, openConsole } from "../../../support/console/page.ts";
import { createTestWebhook } from "../../../support/webhooks/test-webhook.ts";

const [server, browser] = await Promise.all([startFilledSite(), openBrowser()]);
afterAll(async () => {
  await browser.close();
  await server.stop();
});

const problem = (status: number, detail: string) => ({
  status,
  contentType: "application/problem+json",
  body: JSON.stringify({ status, detail }),
});

describe("signing in", () => {
  /** Opens a page without a session. */
  const open = async (): Promise<Page> => (await openPage(browser, server.adminUrl, 1280, 800)).page;
  const shown = (page: Page) => page.getByRole("button", { name: "anna", exact: true }).waitFor();

  test("can be tried again, also after a reload of the page; the link is kept until the server has responded", async () => {
    const page = await open();
    let failures = 0;
    await page.route("**/operator/session", (route) => {
      if (route.request().method() !== "POST") return route.fallback();
      failures++;
      return failures === 2 ? route.abort() : route.fulfill(problem(503, "the database cannot be reached"));
    });
    const link = await server.link("anna");
    await page.goto(link);
    await page.getByText("Couldn’t load the console").waitFor();
    await page.getByText("the database cannot be reached").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Can’t reach the server").waitFor();
    await page.reload();
    await page.getByText("the database cannot be reached").waitFor();
    expect([failures, page.url()]).toEqual([3, link]);
    await page.unroute("**/operator/session");
    await page.getByRole("button", { name: "Try again" }).click();
    await shown(page);
    expect(page.url()).not.toContain("sign-in");
    await page.context().close();
  });

  test("continues if the link was used and a later request failed", async () => {
    const page = await open();
    await page.route("**/operator/sites", (route) => route.fulfill(problem(500, "something went wrong")));
    await page.goto(await server.link("anna"));
    await page.getByText("something went wrong").waitFor();
    await page.unroute("**/operator/sites");
    await page.getByRole("button", { name: "Try again" }).click();
    await shown(page);
    await page.context().close();
  });

  test("too often shows the message of the server", async () => {
    const page = await open();
    const detail = "too many failed sign-ins; try again in a minute";
    await page.route("**/operator/session", (route) =>
      route.request().method() === "POST" ? route.fulfill(problem(429, detail)) : route.fallback(),
    );
    await page.goto(`${server.adminUrl}/#sign-in=${"x".repeat(32)}`);
    await page.getByRole("alert").getByText(detail).waitFor();
    expect(await page.getByText("Can’t reach").count()).toBe(0);
    await page.context().close();
  });
});

describe("a failed read", () => {
  let view: ConsolePage;
  let page: Page;
  beforeAll(async () => {
    await createTestWebhook(server.engine, server.site.ID, "https://203.0.113.9/hooks", {});
    view = await openConsole(browser, server);
    page = view.page;
  });
  afterAll(() => view.finish(/404|500|503/));

  const alert = () => page.getByRole("alert").filter({ hasText: "it cannot be read" }).last();
  const click = (name: string | RegExp) => () => view.button(name).first().click();

  const reads: [
    name: string,
    request: RegExp,
    status: number,
    path: string,
    open: () => Promise<void>,
    content: () => Locator,
  ][] = [
    ["a list of records", /records\/brands\?/, 503, "shop/brands", async () => {}, () => page.getByText("Fernhill")],
    ["a record", /records\/locations[/?]/, 500, "shop/locations/1", async () => {}, () => view.field(/^Name/)],
    ["the history", /history\?/, 404, "shop/history", async () => {}, () => view.button(/^Created location/).first()],
    ["the keys", /shop\/keys$/, 404, "shop/keys", async () => {}, () => page.getByText("warehouse till")],
    ["the webhooks", /webhooks$/, 404, "shop/webhooks", async () => {}, () => view.button("Send test")],
    ["the requests", /requests(\?|$)/, 404, "shop/requests", async () => {}, () => page.getByText("No requests yet")],
    [
      "deliveries",
      /deliveries$/,
      404,
      "shop/webhooks",
      click("Deliveries"),
      () => page.getByText("No deliveries yet.").or(page.getByRole("table", { name: "Deliveries" })),
    ],
    ["the operators", /operators$/, 404, "shop/operators", async () => {}, () => view.button("Actions for anna")],
    [
      "the overview",
      /overview$/,
      404,
      "shop",
      async () => {},
      () => page.getByText("last backup").or(page.getByText("No backup")),
    ],
    [
      "the figures of the server",
      /operator\/traffic/,
      404,
      "shop",
      async () => {},
      () => page.getByRole("heading", { name: "Response time" }),
    ],
    [
      "the requests of the keys",
      /key-traffic$/,
      404,
      "shop",
      async () => {},
      () => page.getByRole("heading", { name: "Requests per hour" }),
    ],
    [
      "the imports that were started",
      /imports$/,
      404,
      "shop/import",
      async () => {},
      () => page.getByText("Drop a file here"),
    ],
    [
      "the numbers of a site",
      /sites\/outlet$/,
      404,
      "shop/sites",
      () => view.act("outlet", "Remove"),
      () => page.getByText("This site has no records, keys or webhooks."),
    ],
    [
      "the dry run of an undo",
      /undo$/,
      404,
      "shop/history",
      async () => {
        await click(/^Created location/)();
        await click("Undo")();
      },
      () => page.getByText("1 record will be deleted."),
    ],
    [
      "the search in all sites",
      /find\?/,
      404,
      "shop",
      async () => {
        await page.getByRole("heading", { name: "Latest changes" }).waitFor();
        await page.keyboard.press("Control+k");
        await page.getByLabel("Name, account number, code or ID").fill("Fernhill");
      },
      () => page.getByText("Name").last(),
    ],
  ];
  /** Reads whose results the first page, the overview, has cached. The test reloads the page to read them again. */
  const cachedReads = [
    "the history",
    "the keys",
    "the overview",
    "the figures of the server",
    "the requests of the keys",
  ];
  test.each(reads)("of %s is shown, and can be repeated", async (name, request, status, path, open, content) => {
    // The read fails until the operator repeats it. Some reads are repeated by the page too, and would succeed before the click.
    await page.evaluate("isRepeated = false");
    const isRepeated = () => page.evaluate<boolean>("isRepeated").catch(() => false);
    await page.route(request, async (route) =>
      (await isRepeated()) ? route.continue() : route.fulfill(problem(status, "it cannot be read")),
    );
    await page.evaluate(`location.assign(${JSON.stringify(`#/${path}`)})`);
    if (cachedReads.includes(name)) await page.reload();
    await open();
    await alert().waitFor();
    expect(await page.getByText(/^No (?!API requests|backups).* yet|No exact match|doesn’t exist/).count()).toBe(0);
    await page.evaluate(`addEventListener("click", () => { isRepeated = true; }, { capture: true, once: true })`);
    await alert().getByRole("button", { name: "Try again" }).click();
    await content().waitFor();
    await alert().waitFor({ state: "hidden" });
    await page.unroute(request);
    while ((await page.getByRole("dialog").count()) > 0) await page.keyboard.press("Escape");
  });

  test("of a record that does not exist is not shown as a failure", async () => {
    await view.show("shop/brands/99");
    await page.getByText("The brand 99 doesn’t exist.").waitFor();
    expect(await page.getByText("Element").count()).toBe(0);
    await view.button("Close").click();
  });
});
