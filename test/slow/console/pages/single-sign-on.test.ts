// Single sign-on in a browser. The provider is on another site, so that cookies behave as they do in real life.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { signOutEverywhere } from "../../../../src/operator/operators/sessions.ts";
import { findingsInBothSchemes } from "../../../support/console/axe.ts";
import { openBrowser, openPage, type Watched } from "../../../support/console/browser.ts";
import { clientId, clientSecret, startIssuer, type TestIssuer } from "../../../support/console/issuer.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../../support/console/server.ts";
import { freePort } from "../../../support/postgres/server.ts";

setDefaultTimeout(60_000);

const folder = mkdtempSync(join(tmpdir(), "storefront-sso-"));
let issuer: TestIssuer;
let server: TestConsole;
let browser: Browser;
let root: ConsoleClient;
let home: string;

beforeAll(async () => {
  writeFileSync(join(folder, "secret"), clientSecret);
  const adminPort = await freePort();
  // Another host than the provider's 127.0.0.1.
  home = `http://localhost:${adminPort}`;
  issuer = await startIssuer();
  const settings = {
    ADMIN_URL: home,
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: clientId,
    OIDC_SECRET_FILE: join(folder, "secret"),
    OIDC_ROLE: "groups=admins:admin",
  };
  [server, browser] = await Promise.all([startTestConsole({ settings, adminPort }), openBrowser()]);
  root = await server.signIn("root");
  await root.call("POST", "/sites/shop/records/brands", { Name: "Acme" });
});
afterAll(async () => {
  await browser.close();
  await server.stop();
  await issuer.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function openAt(path: string): Promise<Watched> {
  issuer.claims = { sub: "1", preferred_username: "anna", groups: ["admins"] };
  const watched = await openPage(browser, home, 1280, 800);
  watched.page.setDefaultTimeout(20_000);
  await watched.page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await watched.page.goto(`${home}/#/${path}`);
  return watched;
}

test("people return to the page they came from, and their edits survive the end of the session", async () => {
  const { page, errors } = await openAt("shop/brands/1");
  const button = (name: string) => page.getByRole("button", { name });
  await button("Sign in with single sign-on").waitFor();
  expect(await findingsInBothSchemes(page)).toEqual([]);
  await button("Sign in with single sign-on").click();
  await page.getByRole("heading", { name: "Acme" }).waitFor();
  expect(page.url()).toBe(`${home}/#/shop/brands/1`);

  await page.getByRole("textbox", { name: /^Name/ }).fill("Acme of anna");
  await signOutEverywhere(server.engine, "anna", Date.now());
  await button("Save").click();
  await page.getByRole("dialog", { name: "You’ve been signed out" }).waitFor();
  expect(await findingsInBothSchemes(page)).toEqual([]);
  const opened = page.waitForEvent("popup");
  await button("Continue with single sign-on").click();
  const popup = await opened;
  if (!popup.isClosed()) await popup.waitForEvent("close");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.getByRole("alert").getByText("Saved").waitFor();
  const { json } = await root.call("GET", "/sites/shop/records/brands/1");
  expect(JSON.stringify(json)).toContain("Acme of anna");
  expect(errors.filter((error) => !/401/.test(error))).toEqual([]);

  await button("anna").click();
  await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
  await page.getByRole("link", { name: "Sign out of single sign-on" }).waitFor();
  expect(await findingsInBothSchemes(page)).toEqual([]);
  await page.context().close();
});

test("people without access, and those whose provider is down, are told so, and can try again", async () => {
  const { page } = await openAt("shop/keys");
  const button = page.getByRole("button", { name: "Sign in with single sign-on" });
  issuer.claims = { sub: "2", groups: [] };
  await button.click();
  await page.getByText("You’re not allowed to use this console").waitFor();
  await issuer.goDown();
  // The browser can't reach the provider either, so it goes back by itself.
  await page.goto(`${home}/#sign-in-failed=down`);
  await page.getByText("isn’t working right now").waitFor();
  issuer.reset();
  issuer.claims = { sub: "2", preferred_username: "ben", groups: ["admins"] };
  await button.click();
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  await page.context().close();
});

test("operators who use single sign-on are marked, have no link, and can't be edited", async () => {
  const { page } = await openAt("shop/operators");
  await page.getByRole("button", { name: "Sign in with single sign-on" }).click();
  const row = page.getByRole("row", { name: /^anna/ });
  await row.getByText("Single sign-on").waitFor();
  await page.getByText("with single sign-on or one-time links").waitFor();
  await page.getByRole("button", { name: "Actions for root" }).click();
  await page.getByRole("menuitem", { name: "Create sign-in link" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Actions for anna" }).click();
  expect(await page.getByRole("menuitem", { name: "Create sign-in link" }).count()).toBe(0);
  await page.getByRole("menuitem", { name: "Edit" }).click();
  await page.getByRole("dialog").getByText(issuer.url).waitFor();
  expect(await findingsInBothSchemes(page)).toEqual([]);
  await page.context().close();
});
