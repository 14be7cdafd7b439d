// `npm run pictures`: creates the picture of the reference, for the README, from a running server with sample data.

import { join } from "node:path";
import { openBrowser, openPage } from "../test/support/console/browser.ts";
import { startDemo } from "../test/support/programs/demo-server.ts";

const file = join(import.meta.dir, "../docs/images/reference.png");
const [server, browser] = await Promise.all([startDemo(), openBrowser()]);
try {
  const { page } = await openPage(browser, server.url, 1280, 800);
  await page.goto(`${server.url}/docs`);
  await page.locator("#listBrands").evaluate((section) => section.scrollIntoView());
  await page.screenshot({ path: file });
} finally {
  await browser.close();
  await server.stop();
}
console.log(file);
