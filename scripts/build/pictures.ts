// `npm run pictures` takes pictures of every console page, in light and dark colours, on a desktop screen and on a phone. Git keeps those that documents show,
// and ignores the others (.gitignore).

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../../test/support/console/browser.ts";
import { type ConsolePage, desktop, openConsole, phone } from "../../test/support/console/page.ts";
import { fileWithFaults, startScene } from "../../test/support/console/scene.ts";
import { madeUpKeyTraffic, madeUpTraffic } from "../../test/support/console/traffic.ts";

const folder = fileURLToPath(new URL("../../docs/console", import.meta.url));
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
try {
  await shootConsole();
} finally {
  await browser.close();
}

async function shootConsole(): Promise<void> {
  const server = await startScene();
  try {
    for (const [place, size] of Object.entries({ desk: desktop, phone }))
      for (const colorScheme of ["light", "dark"] as const) {
        const view = await openConsole(browser, server, { ...size, colorScheme });
        const shoot = (name: string) =>
          view.page.screenshot({
            path: `${folder}/${name}-${place}-${colorScheme}.jpg`,
            type: "jpeg",
            quality: 60,
            scale: "css",
          });
        await view.page.route("**/operator/traffic?*", (route) =>
          route.fulfill({ json: { points: madeUpTraffic(Date.now()) } }),
        );
        await view.page.route("**/key-traffic", (route) => route.fulfill({ json: madeUpKeyTraffic(Date.now()) }));
        await view.page.reload();
        for (const [name, path] of Object.entries(server.pages)) {
          await open(view, path);
          if (name === "webhooks") await showDeliveries(view);
          await shoot(name);
        }
        await open(view, "shop/brands");
        await (place === "phone" ? tickBrands(view) : editBrands(view));
        await shoot("brands-many");
        await view.page.reload();
        await chooseFile(view);
        await shoot("import-columns");
        await checkFile(view);
        await shoot("import-check");
        await view.page.context().clearCookies();
        await view.page.goto(server.adminUrl);
        await view.field("Link").waitFor();
        await shoot("sign-in");
        // Requests in flight fail with a 401 after signing out.
        await view.finish(/401/);
      }
  } finally {
    await server.stop();
  }
}

/** Opens another page and waits until all its data has loaded. */
async function open({ page, show }: ConsolePage, path: string): Promise<void> {
  const before = await page.title();
  await show(path);
  while ((await page.title()) === before) await page.waitForTimeout(50);
  if (path === "shop") await page.getByRole("heading", { name: "Requests per second" }).waitFor();
  while ((await page.getByRole("progressbar").count()) > 0) await page.waitForTimeout(50);
}

async function showDeliveries({ page }: ConsolePage): Promise<void> {
  await page.getByRole("button", { name: "Deliveries" }).first().click();
  await page.getByText("no response within").waitFor();
}

/** Edits cells in the table without saving. */
async function editBrands({ page }: ConsolePage): Promise<void> {
  const edits = [
    [11, "Address.Town", "Leeds"],
    [12, "Address.Town", "Hull"],
    [13, "AccountNumber", "SUP-203"],
  ] as const;
  for (const [id, column, text] of edits) {
    await page.locator(`tr[data-key="${id}"] td[data-column="${column}"]`).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
  }
  await page.getByText(`${edits.length} unsaved changes`).waitFor();
}

/** Ticks two brands, as you would on a phone to change both. */
async function tickBrands({ page }: ConsolePage): Promise<void> {
  for (const name of ["Alder & Co", "Copperfield"]) await page.getByRole("checkbox", { name }).check();
}

/** Shows a file's columns. */
async function chooseFile({ page, show, button }: ConsolePage): Promise<void> {
  await show("shop/import");
  const file = { name: "supplier.csv", mimeType: "text/csv", buffer: Buffer.from(fileWithFaults) };
  await page.locator("input[type=file]").first().setInputFiles(file);
  await button("Check").waitFor();
}

/** Shows the file's dry run, with errors. */
async function checkFile({ page, button }: ConsolePage): Promise<void> {
  await button("Check").click();
  await page.getByRole("button", { name: "2 changed" }).click();
  await page.getByText("SUP-207").waitFor();
}
