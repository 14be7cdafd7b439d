// Makes the pictures of docs/console.md in docs/console: every page, in light and dark colours, at a desk and on a phone.

import { mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../test/support/browser.ts";
import { desktop, openConsole, phone } from "../test/support/console-page.ts";
import { startShop } from "../test/support/console-shop.ts";

const folder = fileURLToPath(new URL("../docs/console", import.meta.url));
mkdirSync(folder, { recursive: true });
const [server, browser] = await Promise.all([startShop(), openBrowser()]);
let bytes = 0;
try {
  for (const [place, size] of Object.entries({ desk: desktop, phone })) {
    for (const colorScheme of ["light", "dark"] as const) {
      const view = await openConsole(browser, server, { ...size, colorScheme });
      for (const [name, path] of Object.entries(server.pages)) {
        await view.show(path);
        const file = `${folder}/${name}-${place}-${colorScheme}.jpg`;
        await view.page.screenshot({ path: file, type: "jpeg", quality: 60, scale: "css" });
        bytes += statSync(file).size;
      }
      await view.finish();
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
console.log(`docs/console: ${bytes} bytes`);
