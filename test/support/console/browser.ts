// A real browser, from the npm registry.

import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { type Browser, type Page, chromium as playwright, type Request } from "playwright-core";
import project from "../../../package.json" with { type: "json" };
import { newPart, putInPlace } from "../made-once.ts";

/** A page and its errors. */
export interface Watched {
  readonly page: Page;
  /** Errors on the console and exceptions. */
  readonly errors: string[];
  /** Requests of the page to other hosts. */
  readonly foreignRequests: string[];
  /** Waits until no request is in flight, the page has rendered the last response, and no progress indicator is shown. */
  settled(): Promise<void>;
}

/** Starts the browser without its sandbox, so that it also runs as root. */
export async function openBrowser(): Promise<Browser> {
  return playwright.launch({ executablePath: await unpacked(), args: ["--no-sandbox", "--disable-gpu"] });
}

/** The path of the browser. It is unpacked into a temporary folder per user, since one user may not run the files of another. */
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

/** The package unpacks the browser and its fonts into the temporary folder of this process. */
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

/** A new page of this size that records its errors. @param home the only host that it may send requests to */
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
// The page has nothing more urgent to do than a task in the background. Then, the browser has drawn, if it says so soon: while nothing changes, it may
// call no page idle for seconds.
const unoccupied = 'new Promise((done) => scheduler.postTask(done, { priority: "background" }))';
const idle = "new Promise((done) => requestIdleCallback(done, { timeout: 100 }))";

/** Waits until the page has drawn what it knows. A frame is not enough: React renders a change of the address in parts. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(nextFrame);
  await page.evaluate(unoccupied);
  await page.evaluate(idle);
  await page.evaluate(unoccupied);
}
