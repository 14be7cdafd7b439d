// Measures how long the console takes until it can be used on a phone: a mid-range processor (a quarter of this machine's speed) and Lighthouse's slow 4G.
// The browser has a session, but has loaded nothing before. The scripts are compressed as in the package. Nothing else may run meanwhile, and the load is
// printed, so that you can tell.

import { loadavg } from "node:os";
import type { Browser } from "playwright-core";
import { unpackConsole } from "../../src/admin/console.ts";
import { buildConsole, packConsole } from "../../src/admin/console-build.ts";
import { openBrowser } from "../../test/support/console/browser.ts";
import { startTestConsole, type TestConsole } from "../../test/support/console/server.ts";
import { median } from "../statistics.ts";

const network = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 };
const slowdown = 4;

/** The pages, and an element that they show with their data. */
const pages = [
  ["brands", "shop/brands", "#main-content a[href$='/brands/1']"],
  ["overview", "shop", "#main-content svg"],
  ["API keys", "shop/keys", "#main-content [data-shortcut=new]"],
] as const;

/** @returns the number of failed loads, which is 0 unless this throws */
export async function benchConsole({ rounds }: { readonly rounds: number }): Promise<number> {
  const packed = await packConsole(await buildConsole(), 11);
  const server = await startTestConsole({ loadScript: async () => unpackConsole(packed) });
  const browser = await openBrowser();
  try {
    const anna = await server.signIn("anna");
    for (let number = 1; number <= 60; number++)
      await anna.call("POST", "/sites/shop/records/brands", { Name: `Brand ${number}` });
    for (const [name, path, shown] of pages) {
      const loads: Load[] = [];
      for (let round = 0; round < rounds; round++) loads.push(await load(browser, server, anna.cookie, path, shown));
      const of = (pick: (load: Load) => number) => Math.round(median(loads.map(pick)));
      const times = loads.map(({ usableMs }) => Math.round(usableMs)).join(", ");
      console.log(
        `${name}: usable after ${of((one) => one.usableMs)} ms (${times}), ${of((one) => one.bytes)} bytes, ${of((one) => one.requests)} requests; load ${loadavg()[0]?.toFixed(1)}`,
      );
    }
  } finally {
    await browser.close();
    await server.stop();
  }
  return 0;
}

interface Load {
  readonly usableMs: number;
  /** As sent, until it's usable. */
  readonly bytes: number;
  readonly requests: number;
}

async function load(
  browser: Browser,
  { adminUrl }: TestConsole,
  session: string,
  path: string,
  shown: string,
): Promise<Load> {
  const context = await browser.newContext({ viewport: { width: 375, height: 812 }, isMobile: true, hasTouch: true });
  const [name = "", value = ""] = session.split("=");
  await context.addCookies([{ name, value, url: adminUrl }]);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", network);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  let [bytes, requests] = [0, 0];
  devtools.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += encodedDataLength;
    requests++;
  });
  await page.goto(`${adminUrl}/#/${path}`, { waitUntil: "commit" });
  await page.waitForSelector(shown);
  // It reacts once a task that's as urgent as a tap gets its turn, and the frame it leads to has been drawn.
  const usableMs = await page.evaluate<number>(
    `scheduler.postTask(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now())))),
      { priority: "user-blocking" })`,
  );
  await context.close();
  return { usableMs, bytes, requests };
}
