// The console without a mouse and for screen readers: whole tasks by keyboard, focus, titles, live regions, and errors at their fields.

import { describe, expect, test } from "bun:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { ConsolePage } from "../../../support/console/page.ts";
import type { ConsoleClient, TestConsole } from "../../../support/console/server.ts";
import { useSitePage } from "../../../support/console/use-console.ts";
import { waitUntil } from "../../../support/time.ts";

let server: TestConsole;
let browser: Browser;
let view: ConsolePage;
let page: Page;
let ben: ConsoleClient;
useSitePage((opened) => {
  ({ server, browser, view, page, ben } = opened);
}, /400/);

const press = (key: string) => page.keyboard.press(key);
/** Presses two keys at once. The second key must follow within 1.5 s, and a busy machine could pause between two calls. */
const pressBoth = (first: string, second: string) => Promise.all([press(first), press(second)]);
const isFocused = (target: Locator) => target.evaluate((element) => element === element.ownerDocument.activeElement);
/** Waits until the element, or an element in it, has the focus. */
const focused = (target: Locator) => target.and(page.locator(":focus-within")).waitFor();

/** Presses Tab until the element has the focus. */
async function tabTo(target: Locator): Promise<void> {
  await target.waitFor();
  for (let i = 0; i < 80 && !(await isFocused(target)); i++) await press("Tab");
  expect(await isFocused(target)).toBe(true);
}

/** Moves the focus to the link that opens Copperfield, the third row of the table. */
async function goToLink(): Promise<Locator> {
  await tabTo(page.locator("td[data-column=Name]").first());
  for (const key of ["ArrowDown", "ArrowDown", "ArrowLeft"]) await press(key);
  const link = page.getByRole("link", { name: "Open Copperfield" });
  await focused(link);
  return link;
}

const phoneNumber = async (id: number) =>
  (await ben.call("GET", `/sites/shop/records/locations/${id}`)).json.record.Telephone.Daytime;

describe("by keyboard alone", () => {
  test("a telephone number is found and corrected, and the correction is undone", async () => {
    await page.getByRole("heading", { name: "Latest changes" }).waitFor();
    await press("Control+k");
    await focused(page.getByRole("dialog"));
    await page.keyboard.type("York Stonegate");
    await page.getByText(/shop · location \d+ · Name/).waitFor();
    await press("Enter");
    await page.waitForURL(/#\/shop\/locations\/\d+$/);
    const id = Number(/\d+$/.exec(page.url())?.[0]);
    await tabTo(view.field("Daytime"));
    await press("Control+a");
    await page.keyboard.type("01632 960 999");
    await press("Enter");
    const undo = page.getByRole("alert").getByRole("button", { name: "Undo" });
    await undo.waitFor();
    expect(await phoneNumber(id)).toBe("01632 960 999");
    await view.field("Daytime").waitFor({ state: "hidden" });
    // Undo is offered for 10 s, which a busy machine may need. The time does not pass while the window has no focus.
    await page.evaluate("dispatchEvent(new Event('blur'))");
    await tabTo(undo);
    await press("Enter");
    await page.getByText("Undone").waitFor();
    expect(await phoneNumber(id)).toBe("01632 960 518");
  });

  test("a record and a dialog are opened and closed, and the focus returns to the element that opened them", async () => {
    await pressBoth("g", "b");
    const name = await goToLink();
    await press("Enter");
    await page.getByRole("heading", { name: "Copperfield" }).waitFor();
    await focused(page.locator(".MuiDrawer-root"));
    await press("Escape");
    await page.getByRole("heading", { name: "Copperfield" }).waitFor({ state: "hidden" });
    await focused(name);

    await pressBoth("g", "k");
    const make = view.button("Create key");
    await tabTo(make);
    await press("Enter");
    await page.getByRole("dialog").waitFor();
    await press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await focused(make);
    // The shortcut isn't typed into the field that gets the focus.
    await press("n");
    expect(await view.field("Name").inputValue()).toBe("");
    await press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    // Also after the question about typed text.
    await press("Enter");
    await view.field("Name").fill("typed");
    await press("Escape");
    await view.button("Discard changes").click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await focused(make);
  });

  test("two keys in succession are a shortcut, also if the page is busy between them for longer than their maximum distance", async () => {
    await view.show("shop/keys");
    // The page handles the second key 2 s after the first.
    await page.evaluate(`addEventListener("keydown", ({ key }) => {
      const end = performance.now() + 2000;
      while (key === "g" && performance.now() < end);
    }, { once: true })`);
    await pressBoth("g", "b");
    await page.waitForURL(/#\/shop\/brands$/);
  });

  test("two keys in succession are a shortcut, also if the page changes between them", async () => {
    await view.show("shop/keys");
    // The keys have fixed times, so that a busy machine cannot make their distance too long.
    const pressAt = (key: string, timeStamp: number) =>
      page.evaluate(
        `document.dispatchEvent(Object.defineProperty(new KeyboardEvent("keydown", { key: "${key}" }), "timeStamp", { value: ${timeStamp} }))`,
      );
    await pressAt("g", 1000);
    await view.show("shop/history");
    await page.getByRole("heading", { name: "History" }).first().waitFor();
    await pressAt("b", 1200);
    await page.waitForURL(/#\/shop\/brands$/);
  });

  test("two keys in succession are a shortcut, also while a form closes", async () => {
    await view.show("shop/brands");
    await goToLink();
    await press("Enter");
    await focused(page.locator(".MuiDrawer-root"));
    // In the first moment in which the focus has left the form. Later, the form may be gone already.
    const pressed = page.evaluate(`new Promise((resolve) => {
      const pressWhenLeft = () => {
        if (document.activeElement.closest(".MuiDrawer-root")) return requestAnimationFrame(pressWhenLeft);
        for (const key of ["g", "k"]) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        resolve(document.querySelector(".MuiDrawer-root") !== null);
      };
      pressWhenLeft();
    })`);
    await press("Escape");
    expect(await pressed).toBe(true);
    await page.waitForURL(/#\/shop\/keys$/);
  });

  test("the table is one stop for Tab, arrow keys move in it, and its headings and checkboxes can be used", async () => {
    await view.show("shop/brands?rows=10");
    const table = page.getByRole("grid");
    const at = (row: number, column: number) => table.locator("tr").nth(row).locator("th, td").nth(column);
    await tabTo(page.locator("td[data-column=Name]").first());
    const moves: [key: string, row: number, column: number][] = [
      ["ArrowDown", 2, 2],
      ["End", 2, 5],
      ["ArrowRight", 2, 5],
      ["Home", 2, 0],
      ["ArrowLeft", 2, 0],
      ["Control+End", 10, 5],
      ["Control+Home", 1, 0],
      ["PageDown", 10, 0],
      ["PageUp", 1, 0],
      ["ArrowUp", 0, 0],
      ["ArrowUp", 0, 0],
      ["ArrowRight", 0, 1],
    ];
    for (const [key, row, column] of moves) {
      await press(key);
      await focused(at(row, column));
    }
    await press("Enter");
    await page.locator("th[aria-sort=ascending]", { hasText: "ID" }).waitFor();
    await focused(at(0, 1));
    await press("ArrowLeft");
    await press("ArrowDown");
    await press("Space");
    await page.getByText("1 selected").waitFor();
    await press("Space");
    expect(await table.locator("[tabindex='0']").count()).toBe(1);
    await press("Tab");
    await focused(page.getByLabel("Rows per page"));
    await press("Shift+Tab");
    await focused(at(1, 0));
    expect(await page.locator(`#${await table.getAttribute("aria-describedby")}`).innerText()).toContain("Enter");
    await press("End");
    await press("F2");
    await focused(at(1, 5).locator("input"));
    await press("Escape");
    await focused(at(1, 5));
  });

  test("columns are chosen, and kept after a reload", async () => {
    await view.show("shop/brands");
    await tabTo(view.button("Columns"));
    await press("Enter");
    const county = page.getByRole("menuitemcheckbox", { name: "County", checked: false });
    await county.waitFor();
    for (let i = 0; i < 40 && !(await isFocused(county)); i++) await press("ArrowDown");
    await press("Enter");
    await page.getByRole("menuitemcheckbox", { name: "County", checked: true }).waitFor();
    await press("Escape");
    await page.reload();
    await page.getByRole("columnheader", { name: "County" }).waitFor();
  });

  test("letters that are typed into a field are not shortcuts", async () => {
    await view.show("shop/brands");
    await press("/");
    await page.keyboard.type("gk?n/");
    expect(await view.field("Search").inputValue()).toBe("gk?n/");
    await page.waitForURL(/gk/);
    expect(await page.getByRole("dialog").count()).toBe(0);
    await view.field("Search").fill("");
    await page.waitForURL((url) => !url.hash.includes("gk"));
  });

  test("every element that gets the focus by Tab shows it", async () => {
    for (const path of ["shop/brands", "shop/keys"]) {
      await view.show(path);
      await page.locator("body").click({ position: { x: 640, y: 780 } });
      const hidden: string[] = [];
      for (let i = 0; i < 25; i++) {
        await press("Tab");
        const stop = await page.evaluate<string>(`(() => {
          const element = document.activeElement;
          if (element === document.body) return "";
          const isField = element.matches("input, textarea, [role=combobox]");
          return isField || getComputedStyle(element).outlineStyle === "solid" ? "" : element.outerHTML.slice(0, 200);
        })()`);
        if (stop) hidden.push(stop);
      }
      expect(hidden).toEqual([]);
    }
  });
});

describe("screen readers", () => {
  test("read the title of each page, in the language of the page", async () => {
    expect(await page.locator("html").getAttribute("lang")).toBe("en");
    const titles: [path: string, title: string][] = [
      ["shop", "Overview · shop · Storefront"],
      ["shop/brands", "Brands · shop · Storefront"],
      ["shop/brands/1", "Alder & Co · shop · Storefront"],
      ["shop/brands/create", "New brand · shop · Storefront"],
      ["shop/keys", "API keys · shop · Storefront"],
      ["shop/nothing", "Page not found · shop · Storefront"],
    ];
    for (const [path, title] of titles) {
      await view.show(path);
      await waitUntil(async () => (await page.title()) === title, `the title ${title}`);
      await page
        .getByRole("status", { includeHidden: true })
        .filter({ hasText: title.replace(" · Storefront", "") })
        .waitFor({ state: "attached" });
    }
  });

  test("read an error at its field, also if the server found it", async () => {
    await view.show("shop/brands/create");
    await view.button("Save").click();
    const errorOf = async (field: Locator) => {
      const id = await field.getAttribute("aria-describedby");
      return [await field.getAttribute("aria-invalid"), await page.locator(`[id="${id}"]`).innerText()];
    };
    await page.locator("[aria-invalid=true]").first().waitFor();
    expect(await errorOf(view.field(/^Name/))).toEqual(["true", "Required"]);
    await view.field(/^Name/).fill("Bell \u0007");
    await view.button("Save").click();
    await page.locator("p", { hasText: "XML can't carry" }).waitFor();
    expect((await errorOf(view.field(/^Name/)))[1]).toMatch(/XML can't carry/);
    await view.field(/^Name/).fill("");
    await press("Escape");
    await view.field(/^Name/).waitFor({ state: "hidden" });
  });

  test("get pages without motion if the operator prefers reduced motion", async () => {
    await view.show("shop/keys");
    const durations = await page.evaluate<string[]>(
      "[...document.querySelectorAll('button')].map((element) => getComputedStyle(element).transitionDuration)",
    );
    expect(durations.flatMap((all) => all.split(", ")).filter((one) => Number.parseFloat(one) > 0.001)).toEqual([]);
  });
});

test("times are relative to the clock of the server and in the time zone of the browser, although the browser's clock is three days wrong", async () => {
  const context = await browser.newContext({
    timezoneId: "America/Los_Angeles",
    storageState: await page.context().storageState(),
  });
  const other = await context.newPage();
  await other.clock.install({ time: Date.now() + 3 * 86_400_000 });
  await other.goto(server.adminUrl);
  const changed = other.locator("main time").first();
  await changed.waitFor();
  expect(await changed.innerText()).toMatch(/just now|minutes? ago/);
  const at = (await changed.getAttribute("datetime")) as string;
  const shown = new Intl.DateTimeFormat("en-US", {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone: "America/Los_Angeles",
  });
  expect(await changed.getAttribute("title")).toBe(shown.format(new Date(at)));
  await context.close();
});
