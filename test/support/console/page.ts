// Opens the console in a real browser, with a signed-in operator.

import { expect } from "bun:test";
import type { Browser, Locator } from "playwright-core";
import { openPage, type Watched } from "./browser.ts";
import type { TestConsole } from "./server.ts";

export interface View {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  readonly operator?: string;
  /** The browser's locale. */
  readonly locale?: string;
  /** Sites the operator can manage. Default: all. */
  readonly sites?: readonly string[];
}

export interface ConsolePage extends Watched {
  /** Goes to another page, such as `shop/keys`. */
  show(path: string): Promise<void>;
  /** Opens the menu, which phones hide, and follows this item. */
  follow(item: string): Promise<void>;
  /** Opens a row's menu and chooses an action. @param row its name, as in the menu's name */
  act(row: string | RegExp, action: string): Promise<void>;
  button(name: string | RegExp): Locator;
  field(name: string | RegExp): Locator;
  /**
   * Closes the page, and checks that it sent nothing to other hosts, reported no errors, kept to the content security policy, and isn't wider than the window.
   * @param expected errors that the test provoked, such as 412 responses
   */
  finish(expected?: RegExp): Promise<void>;
}

export const desktop = { width: 1280, height: 800 };
export const phone = { width: 375, height: 740 };

/** Signs an operator in, and waits for the first page. Adds them first if there's none with this name. */
export async function openConsole(browser: Browser, server: TestConsole, view: View = {}): Promise<ConsolePage> {
  const { width = 1280, height = 800, locale, operator = "anna", sites = [] } = view;
  await server.addOperator(operator, sites).catch(() => {});
  const watched = await openPage(browser, server.adminUrl, width, height, locale);
  const { page, settled } = watched;
  // Enough for a busy machine, but less than a test's time limit, so that the error names the missing element.
  page.setDefaultTimeout(20_000);
  await page.emulateMedia({ colorScheme: view.colorScheme ?? "light", reducedMotion: "reduce" });
  await page.goto(await server.link(operator));
  await page.locator("#main-content").waitFor();
  return {
    ...watched,
    async show(path) {
      await page.evaluate(`location.assign(${JSON.stringify(`#/${path}`)})`);
      await settled();
    },
    async follow(item) {
      const isPhone = width < 600;
      if (isPhone) await page.getByRole("button", { name: "Open menu" }).click();
      await page.getByRole("navigation").getByRole("link", { name: item, exact: true }).click();
      await settled();
    },
    async act(row, action) {
      const name = typeof row === "string" ? `Actions for ${row}` : new RegExp(`^Actions for .*${row.source}`);
      await page.getByRole("button", { name, exact: true }).first().click();
      await page.getByRole("menuitem", { name: action, exact: true }).click();
    },
    button: (name) => page.getByRole("button", { name }),
    field: (name) => page.getByRole("textbox", { name }),
    async finish(expected) {
      const pageWidth = await page.evaluate("document.documentElement.scrollWidth");
      const errors = watched.errors.filter((error) => !expected?.test(error));
      await page.context().close();
      expect({ errors, foreignRequests: watched.foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
      expect(pageWidth).toBeLessThanOrEqual(width);
    },
  };
}
