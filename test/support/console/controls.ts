// Helpers for the tests that use every button and choice in the console (controls-of-*.test.ts).

import { afterAll, beforeAll } from "bun:test";
import type { Page } from "playwright-core";
import { openBrowser } from "./browser.ts";
import { startFilledSite } from "./filled-site.ts";
import { type ConsolePage, openConsole } from "./page.ts";
import { type Pressed, trackPressed } from "./pressed.ts";
import type { ConsoleClient } from "./server.ts";

/** Names of records, sites and people that appear in controls' names. */
const names = [
  /“[^”]*” \(sfk_\w+…\)/,
  /sfk_\w+…?/,
  /(anna|ben|carla|outlet|garden|toys)(-sandbox)?/,
  /Zeta \d+|New name|Alder & Co|Barn Owl Books|Copperfield|Dunmore Pottery|Elm Street Linens|Fernhill|Greywether/,
  /Harbour Lane|Ivy House|Juniper Row/,
  /http\S+/,
  /(?<=New )(brand|location|order status)/,
  /Bristol \w+|York \w+|Being packed|Dispatched|Received|Returned/,
  /(?<=^Actions for )shop$|^shop$/,
  /Leeds \w+/,
  /\w{3} \d+, \d{4}, \d+:\d\d:\d\d\s[AP]M/,
  /(?:GET|POST) \/\S+/,
];

/** Pages covered by controls-of-settings.test.ts. */
const settingsPages = /^(?:API keys|Requests|Webhooks|Sites|People): /;
/** Controls in menus and messages, which aren't on a page. */
const menus = /^Menu: /;

export interface ControlsPage {
  readonly server: Awaited<ReturnType<typeof startFilledSite>>;
  readonly view: ConsolePage;
  readonly page: Page;
  readonly ben: ConsoleClient;
  readonly pressed: Pressed;
}

/** Opens a site with 70 brands for a file's tests, passes it to `set`, and tracks its controls. */
export function useControls(set: (opened: ControlsPage) => void): void {
  let end: () => Promise<void>;
  beforeAll(async () => {
    const settings = { WEBHOOK_ALLOW: "203.0.113.0/24" };
    const [server, browser] = await Promise.all([startFilledSite({ settings }), openBrowser()]);
    const ben = await server.signIn("ben");
    for (let i = 0; i < 60; i++) await ben.call("POST", "/sites/shop/records/brands", { Name: `Zeta ${i}` });
    const view = await openConsole(browser, server);
    const { page } = view;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    set({ server, view, page, ben, pressed: await trackPressed(page, names) });
    end = async () => {
      await view.finish(/401|40\d/);
      await browser.close();
      await server.stop();
    };
  });
  afterAll(() => end());
}

/** Returns the settings pages' and menus' controls that were shown but not used. */
export async function listUnusedInSettings(pressed: Pressed): Promise<string[]> {
  return (await pressed.unused()).filter((name) => settingsPages.test(name) || menus.test(name));
}

/** Returns all other controls that were shown but not used. */
export async function listUnusedOutsideSettings(pressed: Pressed): Promise<string[]> {
  return (await pressed.unused()).filter((name) => !settingsPages.test(name));
}

export function controlsOf({ view, page }: Pick<ControlsPage, "view" | "page">) {
  const dialog = () => page.getByRole("dialog").last();
  /** Chooses each of a list's options once, the first one last. @returns their names */
  async function chooseEach(label: string): Promise<string[]> {
    const list = page.getByRole("combobox", { name: label, exact: true }).last();
    const open = () => list.click();
    await open();
    const options = await page.getByRole("option").allTextContents();
    for (const [index, name] of [...options.slice(1), options[0] as string].entries()) {
      if (index > 0) await open();
      await page.getByRole("option", { name, exact: true }).click();
      await page.getByRole("listbox").waitFor({ state: "hidden" });
    }
    return options;
  }
  return {
    dialog,
    chooseEach,
    click: (name: string | RegExp) => view.button(name).first().click(),
    choose: (name: string | RegExp) => dialog().getByRole("button", { name, exact: true }).click(),
    closed: () => page.getByRole("dialog").waitFor({ state: "hidden" }),
    said: (text: string | RegExp) => page.getByRole("alert").getByText(text).last().waitFor(),
  };
}
