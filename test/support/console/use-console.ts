// Setup for many files in test/console.

import { afterAll, beforeAll, beforeEach } from "bun:test";
import type { Browser, Page } from "playwright-core";
import type { EngineKind } from "../engine/engines.ts";
import { openBrowser } from "./browser.ts";
import { startFilledSite } from "./filled-site.ts";
import { type ConsolePage, openConsole } from "./page.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "./server.ts";

/** Gets the server and a signed-in operator of all sites. */
type SetConsole = (server: TestConsole, anna: ConsoleClient) => void;

/** Starts a console for all tests of the file or `describe` block that calls this, and passes it to `set`. */
export function useConsole(set: SetConsole): void {
  let server: TestConsole;
  beforeAll(async () => {
    server = await startTestConsole();
    set(server, await server.signIn("anna"));
  });
  afterAll(() => server.stop());
}

/** Starts a console on an empty database for each test of the `describe` block that calls this, and passes it to `set`. */
export function useConsoleOn(kind: EngineKind, set: SetConsole): void {
  let server: TestConsole;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    await server?.stop();
    server = await startTestConsole({ settings: { DATABASE: await kind.newDatabase() } });
    set(server, await server.signIn("anna"));
  });
  afterAll(async () => {
    await server.stop();
    await kind.close();
  });
}

export interface SitePage {
  readonly server: Awaited<ReturnType<typeof startFilledSite>>;
  readonly browser: Browser;
  /** The console as anna, an operator of all sites, sees it. */
  readonly view: ConsolePage;
  readonly page: Page;
  /** Another operator of all sites, without a page. */
  readonly ben: ConsoleClient;
}

/**
 * Opens a site's page once for all the file's tests, because that takes a second, and passes it to `set`.
 * @param expected browser errors that the tests provoke
 */
export function useSitePage(set: (opened: SitePage) => void, expected?: RegExp): void {
  let opened: SitePage;
  beforeAll(async () => {
    const [server, browser] = await Promise.all([startFilledSite(), openBrowser()]);
    const ben = await server.signIn("ben");
    const view = await openConsole(browser, server);
    opened = { server, browser, view, page: view.page, ben };
    set(opened);
  });
  afterAll(async () => {
    await opened.view.finish(expected);
    await opened.browser.close();
    await opened.server.stop();
  });
}
