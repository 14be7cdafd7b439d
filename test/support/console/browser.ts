// A real browser, from the npm registry.

import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { type Browser, type Page, chromium as playwright, type Request } from "playwright-core";
import project from "../../../package.json" with { type: "json" };
import { newPart, putInPlace } from "../made-once.ts";

export interface Watched {
  readonly page: Page;
  /** Errors logged by the page, and exceptions. */
  readonly errors: string[];
  /** The page's requests to other hosts. */
  readonly foreignRequests: string[];
  /** Waits until there's no request in flight and no progress indicator, and the page has rendered the last response. */
  settled(): Promise<void>;
}

/** Starts the browser without its sandbox, so that it runs as root too. */
export async function openBrowser(): Promise<Browser> {
  return playwright.launch({ executablePath: await unpacked(), args: ["--no-sandbox", "--disable-gpu"] });
}

/** Returns the browser's path. Each user has their own unpacked copy, because they may not run each other's files. */
async function unpacked(): Promise<string> {
  const version = project.devDependencies["@sparticuz/chromium"];
  const whole = join(tmpdir(), `storefront-browser-${version}-${process.getuid?.() ?? ""}`);
  const program = join(whole, "chromium");
  if (existsSync(program)) return program;
  const part = newPart(whole);
  await unpackInto(part);
  putInPlace(part, whole);
  return program;
}

/** The package unpacks the browser and its fonts into this process's temporary folder. */
async function unpackInto(folder: string): Promise<void> {
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  try {
    await chromium.executablePath();
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
}

/** Opens a page of this size that records its errors. @param home the only host it may send requests to */
export async function openPage(
  browser: Browser,
  home: string,
  width: number,
  height: number,
  locale = "en-US",
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width, height },
    isMobile: width < 600,
    hasTouch: width < 600,
    locale,
  });
  const page = await context.newPage();
  const errors: string[] = [];
  const foreignRequests: string[] = [];
  const inFlight = new Set<Request>();
  let ended = 0;
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    inFlight.add(request);
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith("http") && origin !== home) foreignRequests.push(request.url());
  });
  const onEnd = (request: Request) => {
    inFlight.delete(request);
    ended++;
  };
  page.on("requestfinished", onEnd);
  page.on("requestfailed", onEnd);
  async function settled(): Promise<void> {
    let before: number;
    do {
      before = ended;
      await drawn(page);
    } while (inFlight.size > 0 || ended > before);
    await page.locator("[role=progressbar]").first().waitFor({ state: "hidden" });
  }
  return { page, errors, foreignRequests: foreignRequests, settled };
}

const nextFrame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
// Resolves once the page has nothing more urgent to do than a background task. We don't wait for the browser's idle callback for long, because it may not come
// for seconds while nothing changes.
const unoccupied = 'new Promise((done) => scheduler.postTask(done, { priority: "background" }))';
const idle = "new Promise((done) => requestIdleCallback(done, { timeout: 100 }))";

/** Waits until the page has drawn everything. One frame isn't enough, because React renders a change of address in parts. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(nextFrame);
  await page.evaluate(unoccupied);
  await page.evaluate(idle);
  await page.evaluate(unoccupied);
}
