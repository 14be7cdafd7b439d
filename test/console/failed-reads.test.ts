// Pages of the console whose reads fail: they say so, never that there is nothing, and offer to try again.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openPage } from "../support/browser.ts";
import { startShop } from "../support/console-shop.ts";

let server: Awaited<ReturnType<typeof startShop>>;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startShop(), openBrowser()]);
});
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

  test("is tried again, also when the page is loaded again, and the link is kept until the server has decided", async () => {
    const page = await open();
    let failures = 0;
    await page.route("**/operator/session", (route) => {
      if (route.request().method() !== "POST") return route.fallback();
      failures++;
      return failures === 2 ? route.abort() : route.fulfill(problem(503, "the database cannot be reached"));
    });
    const link = await server.link("anna");
    await page.goto(link);
    await page.getByText("The console could not be opened.").waitFor();
    await page.getByText("the database cannot be reached").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("The server cannot be reached.").waitFor();
    await page.reload();
    await page.getByText("the database cannot be reached").waitFor();
    expect([failures, page.url()]).toEqual([3, link]);
    await page.unroute("**/operator/session");
    await page.getByRole("button", { name: "Try again" }).click();
    await shown(page);
    expect(page.url()).not.toContain("sign-in");
    await page.context().close();
  });

  test("goes on when the link was used, but what comes after it failed", async () => {
    const page = await open();
    await page.route("**/operator/sites", (route) => route.fulfill(problem(500, "something went wrong")));
    await page.goto(await server.link("anna"));
    await page.getByText("something went wrong").waitFor();
    await page.unroute("**/operator/sites");
    await page.getByRole("button", { name: "Try again" }).click();
    await shown(page);
    await page.context().close();
  });

  test("too often is said as such", async () => {
    const page = await open();
    const detail = "too many attempts to sign in failed; try again in a minute";
    await page.route("**/operator/session", (route) =>
      route.request().method() === "POST" ? route.fulfill(problem(429, detail)) : route.fallback(),
    );
    await page.goto(`${server.adminUrl}/#sign-in=${"x".repeat(32)}`);
    await page.getByRole("alert").getByText(detail).waitFor();
    expect(await page.getByText("cannot be reached").count()).toBe(0);
    await page.context().close();
  });
});
