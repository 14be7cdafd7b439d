// Serves the console: a page, its scripts, and the licences of the packages in the scripts. The page gets all data from the API under /operator.

import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { preferredCoding } from "../http/common/content-negotiation.ts";
import { gzipWhole, StaticFile } from "../http/common/static-file.ts";
import { once } from "../lib/concurrency.ts";
import type { WireRequest } from "../wire/request.ts";
import { buildConsole, consoleEntry, noticesPath } from "./console-build.ts";
import { toConsolePage } from "./console-page.ts";
import type { AdminContent, AdminRequestContext, AdminRoute } from "./handler.ts";
import { hasSessionCookie } from "./session.ts";

/** Loads the script once for all admin listeners of this process. */
const loadOnce = once(loadScript);

/** Creates the routes of the console. @param load loads the script; by default the script of this program */
export function consoleRoutes(load = loadOnce): [path: string, route: AdminRoute][] {
  return [
    ["/", { GET: ({ request }) => respondWithPage(request, load) }],
    ["/console-xlsx.js", { GET: async ({ request }) => toScriptResponse(request, (await load()).workbookFile, false) }],
    ["/console.js", { GET: (context) => respondWithScript(context, load) }],
    [noticesPath, { GET: async () => toNoticesResponse(await load()) }],
  ];
}

async function respondWithPage({ headers }: WireRequest, load: typeof loadOnce): Promise<AdminContent> {
  const digest = await withMaxWait(load().then(({ file }) => file.digest()));
  return toConsolePage(digest, { headers, isSignedIn: hasSessionCookie(headers) });
}

/** Maximum milliseconds that the page waits for its script. Bundling the script in a checkout takes 100 to 600 ms. */
const maxWaitMs = 200;

/** Returns the value, or undefined if it takes longer than `maxWaitMs`. */
async function withMaxWait<T>(value: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), maxWaitMs);
  return Promise.race([value, promise]).finally(() => clearTimeout(timer));
}

/** Responds with the script. During an upgrade, the page can be of another program version than the script, and then names another digest. */
async function respondWithScript(
  { request, query }: AdminRequestContext,
  load: typeof loadOnce,
): Promise<AdminContent> {
  const { file } = await load();
  return toScriptResponse(request, file, query.has(await file.digest()));
}

/** Creates the response with a script. @param isNamed whether the URL contains the digest of the script. A browser may then cache the script for ever */
async function toScriptResponse(
  { headers }: WireRequest,
  file: ConsoleScript["file"],
  isNamed: boolean,
): Promise<AdminContent> {
  const coding = preferredCoding(headers.get("accept-encoding"), ["br", "gzip"]);
  return {
    body: await file.bytes(coding),
    headers: {
      "Content-Type": "text/javascript; charset=utf-8",
      "Cache-Control": isNamed ? "private, max-age=31536000, immutable" : "no-store",
      Vary: "Accept-Encoding",
      ...(coding ? { "Content-Encoding": coding } : {}),
    },
  };
}

function toNoticesResponse({ notices }: ConsoleScript): AdminContent {
  return { body: notices, headers: { "Content-Type": "text/plain; charset=utf-8" } };
}

export interface ConsoleScript {
  readonly file: StaticFile<"br" | "gzip">;
  readonly workbookFile: StaticFile<"br" | "gzip">;
  readonly notices: string;
}

/**
 * Loads the script. A checkout bundles it from the source. The package and the executable do not contain the source, but the finished script.
 * @throws AggregateError with the errors in the source of a checkout, or Error about the licence of a package
 */
export function loadScript(): Promise<ConsoleScript> {
  return existsSync(consoleEntry) ? buildScript() : readBundledScript();
}

/** Options for fast compression. The best compression would take seconds, too long for the first page. */
const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

async function buildScript(): Promise<ConsoleScript> {
  const { script, workbookScript, notices } = await buildConsole();
  const br = (bytes: Uint8Array) => promisify(brotliCompress)(bytes, quickly);
  const toFile = (text: string) => new StaticFile(() => Buffer.from(text), { br, gzip: gzipWhole });
  return { file: toFile(script), workbookFile: toFile(workbookScript), notices };
}

async function readBundledScript(): Promise<ConsoleScript> {
  const { default: file } = await import("../../dist/console/console.js.br", { with: { type: "file" } });
  const { default: workbook } = await import("../../dist/console/console-xlsx.js.br", { with: { type: "file" } });
  const { default: notices } = await import("../../dist/console/console.js.LICENSE.txt", { with: { type: "text" } });
  const [script, workbookScript] = await Promise.all([Bun.file(file).bytes(), Bun.file(workbook).bytes()]);
  return { file: fromBrotli(script), workbookFile: fromBrotli(workbookScript), notices };
}

export function fromBrotli(compressed: Uint8Array): ConsoleScript["file"] {
  const make = () => promisify(brotliDecompress)(compressed);
  return new StaticFile(make, { br: async () => compressed, gzip: gzipWhole });
}
