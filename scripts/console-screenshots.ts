// Creates the pictures of docs/console.md in docs/console: every page, in light and dark colours, on a desktop screen and on a phone.

import { mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../test/support/console/browser.ts";
import { type ConsolePage, desktop, openConsole, phone } from "../test/support/console/page.ts";
import { fileWithFaults, startScene } from "../test/support/console/scene.ts";
import { madeUpKeyTraffic, madeUpTraffic } from "../test/support/console/traffic.ts";

const folder = fileURLToPath(new URL("../docs/console", import.meta.url));
mkdirSync(folder, { recursive: true });
const [server, browser] = await Promise.all([startScene(), openBrowser()]);
let bytes = 0;
try {
  for (const [place, size] of Object.entries({ desk: desktop, phone })) {
    for (const colorScheme of ["light", "dark"] as const) {
      const view = await openConsole(browser, server, { ...size, colorScheme });
      const shoot = async (name: string) => {
        const file = `${folder}/${name}-${place}-${colorScheme}.jpg`;
        await view.page.screenshot({ path: file, type: "jpeg", quality: 60, scale: "css" });
        bytes += statSync(file).size;
      };
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
      await checkFile(view);
      await shoot("import-check");
      await view.page.context().clearCookies();
      await view.page.goto(server.adminUrl);
      await view.field("Link").waitFor();
      await shoot("sign-in");
      // The page may have requests in flight. They fail with 401 after signing out.
      await view.finish(/401/);
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
console.log(`docs/console: ${bytes} bytes`);

/** Shows another page, and waits until all its data is loaded. */
async function open({ page, show }: ConsolePage, path: string): Promise<void> {
  const before = await page.title();
  await show(path);
  while ((await page.title()) === before) await page.waitForTimeout(50);
  if (path === "shop") await page.getByText("Requests per second").waitFor();
  while ((await page.getByRole("progressbar").count()) > 0) await page.waitForTimeout(50);
}

async function showDeliveries({ page }: ConsolePage): Promise<void> {
  await page.getByRole("button", { name: "Deliveries" }).first().click();
  await page.getByText("no response within").waitFor();
}

/** Shows the dry run of a file with errors. */
async function checkFile({ page, show, button }: ConsolePage): Promise<void> {
  await show("shop/import");
  const file = { name: "supplier.csv", mimeType: "text/csv", buffer: Buffer.from(fileWithFaults) };
  await page.locator("input[type=file]").first().setInputFiles(file);
  await button("Check").click();
  await page.getByRole("button", { name: "2 changed" }).click();
  await page.getByText("SUP-207").waitFor();
}
