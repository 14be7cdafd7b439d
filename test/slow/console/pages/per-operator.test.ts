// The choices and typed texts of an operator, and every change, belong to that operator and that site.

import { afterAll, expect, test } from "bun:test";
import { openBrowser } from "../../../support/console/browser.ts";
import { startFilledSite } from "../../../support/console/filled-site.ts";
import { openConsole } from "../../../support/console/page.ts";

const [server, browser] = await Promise.all([startFilledSite(), openBrowser()]);
const ben = await server.signIn("ben");
for (const Name of ["Outlet one", "Outlet two", "Outlet three"])
  await ben.call("POST", "/sites/outlet/records/brands", { Name });
const view = await openConsole(browser, server);
const page = view.page;
afterAll(async () => {
  await view.finish();
  await browser.close();
  await server.stop();
});

const dialog = () => page.getByRole("dialog").last();
const row = (name: string) => page.getByRole("row").filter({ hasText: name });
const search = () => view.field("Search");
const namesOf = async (site: string) =>
  (await ben.call("GET", `/sites/${site}/records/brands?sort=ID`)).json.records.map(
    ({ record }: { record: { Name: string } }) => record.Name,
  );

async function select(...names: string[]): Promise<void> {
  for (const name of names) await row(name).getByRole("checkbox").check();
  await page.getByText(`${names.length} selected`).waitFor();
}

async function chooseShop(name: string): Promise<void> {
  await page.getByRole("combobox", { name: "Site" }).fill(name);
  await page.getByRole("option", { name }).click();
  await page.waitForURL(new RegExp(`#/${name}`));
}

/** Signs out through the menu, and in again. */
async function signInAs(operator: string): Promise<void> {
  await page.getByRole("button", { name: /^(anna|ben|carla)$/ }).click();
  await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
  await view.field("Link").fill(await server.link(operator));
  await view.button("Sign in").click();
  await page.locator("#main-content").waitFor();
}

/** Returns the selection and the text of the search on the page of the brands, and whether the browser stores either. */
async function readChoices(site: string) {
  await view.show(`${site}/brands`);
  await page.getByRole("link", { name: site === "shop" ? "Fernhill" : "Outlet one" }).waitFor();
  const stored = await page.evaluate<string>("JSON.stringify(localStorage)");
  return {
    selected: await page.getByRole("row").getByRole("checkbox", { checked: true }).count(),
    bar: await page.getByText(/^\d+ selected/).isVisible(),
    search: await search().inputValue(),
    isStored: /Barn|selectedIds|listParams/.test(stored),
  };
}
const none = { selected: 0, bar: false, search: "", isStored: false };

const isCountyShown = async (site: string) => {
  await view.show(`${site}/brands`);
  await page.getByRole("columnheader", { name: "Name" }).waitFor();
  return page.getByRole("columnheader", { name: "County" }).isVisible();
};

test("the columns of a table are stored per operator and site, and stay after a reload", async () => {
  await view.show("shop/brands");
  await view.button("Columns").click();
  await page.getByRole("menuitemcheckbox", { name: "County" }).click();
  await page.keyboard.press("Escape");
  await page.reload();
  expect([await isCountyShown("shop"), await isCountyShown("outlet")]).toEqual([true, false]);
});

test("the selected records and the text of a search are reset for another site or another operator", async () => {
  const selectAndSearch = async () => {
    await view.show("shop/brands");
    await select("Alder & Co", "Juniper Row");
    await search().fill("Barn");
    await page.waitForURL(/Barn/);
    await row("Fernhill").waitFor({ state: "hidden" });
  };
  await selectAndSearch();
  await chooseShop("outlet");
  expect(await readChoices("outlet")).toEqual(none);
  await chooseShop("shop");
  expect(await readChoices("shop")).toEqual(none);
  await selectAndSearch();
  await server.addOperator("carla");
  await signInAs("carla");
  expect(await readChoices("outlet")).toEqual(none);
  expect(await readChoices("shop")).toEqual(none);
  expect(await isCountyShown("shop")).toBe(false);
});

test("the question before a deletion names the site, the number of records, and the first five records", async () => {
  const names = (await namesOf("shop")) as string[];
  await view.show("shop/brands");
  await select(...names.slice(0, 7));
  await view.button("Delete").click();
  await page.getByRole("dialog", { name: "Delete 7 brands from “shop”?" }).waitFor();
  await dialog().getByText(`${names[4]} · ID 5`).waitFor();
  expect(await dialog().getByRole("listitem").allTextContents()).toEqual([
    ...names.slice(0, 5).map((name, index) => `${name} · ID ${index + 1}`),
    "and 2 more",
  ]);
  await dialog().getByRole("button", { name: "Cancel" }).click();
  expect(await namesOf("shop")).toEqual(names);
  await view.button("Clear selection").click();
  await select(names[3] as string, names[4] as string);
  await view.button("Delete").click();
  await dialog().getByText(`${names[3]} · ID 4`).waitFor();
  await dialog().getByRole("button", { name: "Delete" }).click();
  await page.getByText("2 records deleted").waitFor();
  expect(await namesOf("shop")).toEqual(names.filter((_, index) => index !== 3 && index !== 4));
  await page.getByText(/^\d+ selected/).waitFor({ state: "hidden" });
});

test("no invisible element gets the focus while no record is selected", async () => {
  await view.show("shop/brands");
  await row("Fernhill").waitFor();
  const hidden: string[] = [];
  await search().focus();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate<string>(`(() => {
      const element = document.activeElement;
      const { height } = (element.closest(".MuiToolbar-root") ?? element).getBoundingClientRect();
      return element !== document.body && height < 1 ? element.outerHTML.slice(0, 200) : "";
    })()`);
    if (stop) hidden.push(stop);
  }
  expect(hidden).toEqual([]);
});

test("a link in a browser with the session of another operator asks, and a page saves nothing in the name of another operator", async () => {
  const mine = await openConsole(browser, server, { operator: "carla" });
  await mine.show("shop/brands/create");
  await mine.field(/^Name/).fill("Made by carla");
  const other = await mine.page.context().newPage();
  const click = (name: string) => other.getByRole("button", { name, exact: true }).click();
  const link = await server.link("ben");
  await other.goto(link);
  await other.getByText("You're signed in as carla, but this link is for ben.").waitFor();
  await click("Stay signed in");
  await other.getByRole("button", { name: "carla", exact: true }).waitFor();
  expect(new URL(other.url()).hash).not.toContain("sign-in");
  // The link is still valid.
  await other.goto(`${server.adminUrl}/#`);
  await other.goto(link);
  await click("Switch accounts");
  await other.getByRole("button", { name: "ben", exact: true }).waitFor();

  const before = await namesOf("shop");
  await mine.button("Save").click();
  await mine.page.getByRole("dialog", { name: "You’re now signed in as ben" }).waitFor();
  expect(await namesOf("shop")).toEqual(before);
  await mine.field("Link").fill(await server.link("carla"));
  await mine.button("Sign in").click();
  await mine.page.getByRole("dialog").last().getByText("you're signed in as ben, but this link is for carla").waitFor();
  await mine.button("Switch accounts").click();
  await mine.page.getByRole("alert").getByText("Created").waitFor();
  expect(await namesOf("shop")).toEqual([...before, "Made by carla"]);
  const { entries } = (await ben.call("GET", "/sites/shop/history?limit=1")).json;
  expect(entries[0]).toMatchObject({ actor: "console:carla", change: { after: { Name: "Made by carla" } } });

  await other.evaluate("location.assign('#/shop/history')");
  await other.getByRole("dialog", { name: "You’re now signed in as carla" }).waitFor();
  await click("Continue as carla");
  await other.getByRole("button", { name: "carla", exact: true }).waitFor();

  // A used link opens the console for the signed-in operator.
  await other.goto(`${server.adminUrl}/#`);
  await other.goto(link);
  await other.getByRole("button", { name: "carla", exact: true }).waitFor();
  await mine.finish(/401|409/);
});

test("an operator of one site sees only this site, also at addresses of other sites", async () => {
  const dora = await openConsole(browser, server, { operator: "dora", sites: ["outlet"] });
  await dora.page.waitForURL(/#\/outlet/);
  await dora.page.getByRole("link", { name: "Sites" }).waitFor();
  expect(await dora.page.getByRole("link", { name: "People" }).count()).toBe(0);
  await dora.page.getByRole("combobox", { name: "Site" }).click();
  await dora.page.getByRole("option").first().waitFor();
  expect(await dora.page.getByRole("option").allTextContents()).toEqual(["outlet"]);
  await dora.page.keyboard.press("Escape");
  for (const path of Object.values(server.pages)) {
    await dora.show(path);
    await dora.page.getByText("The site “shop” doesn’t exist").waitFor();
  }
  await dora.show("outlet/operators");
  await dora.page.getByText("Only operators of all sites can open this page.").waitFor();
  await dora.show("outlet/sites");
  expect(await dora.button("Add site").count()).toBe(0);
  await dora.button("Actions for outlet").click();
  const actions = await dora.page.getByRole("menuitem").filter({ visible: true }).allTextContents();
  expect(actions.filter((name) => /Remove|Suspend/.test(name))).toEqual(["Suspend"]);
  await dora.page.keyboard.press("Escape");
  await dora.page.keyboard.press("Control+k");
  await dora.page.getByLabel("Name, account number, code or ID").fill("Fernhill");
  await dora.page.getByText("No exact match in your sites").waitFor();
  await dora.finish();
});
