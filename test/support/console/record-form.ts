// A record's form in the console, for tests of edits.

import type { Page } from "playwright-core";
import type { ConsolePage } from "./page.ts";
import type { ConsoleClient } from "./server.ts";

export const brandsPath = "/sites/shop/records/brands";

/** @param view the console with the form @param ben a client that reads and changes the same records */
export function recordFormOf({ view, page, ben }: { view: ConsolePage; page: Page; ben: ConsoleClient }) {
  const notice = (text: string) => page.getByRole("alert").getByText(text);

  /** Waits until the form has closed, which means it was saved. The notice alone may be about the previous change. */
  async function saved(text: "Saved" | "Created"): Promise<void> {
    // Find it by class, because behind a dialog, the form has no role.
    await page.locator(".MuiDrawer-root").waitFor({ state: "hidden" });
    await notice(text).waitFor();
  }

  return {
    notice,
    saved,
    async addBrand(name: string): Promise<number> {
      return (await ben.call("POST", brandsPath, { Name: name })).json.record.ID;
    },
    async brandOf(id: number) {
      return (await ben.call("GET", `${brandsPath}/${id}`)).json.record;
    },
    async save(button = "Save"): Promise<void> {
      await view.button(button).click();
      await saved("Saved");
    },
  };
}
