// Serves the console: a page, its script, and the licences of the packages in the script. The page gets all data from the API under /operator.

import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { preferredCoding } from "../http/common/content-negotiation.ts";
import { gzipWhole, StaticFile } from "../http/common/static-file.ts";
import { once } from "../lib/concurrency.ts";
import { randomText } from "../lib/text.ts";
import type { WireRequest } from "../wire/request.ts";
import { buildConsole, consoleEntry, noticesPath } from "./console-build.ts";
import type { AdminContent, AdminRoute } from "./handler.ts";

/** Loads the script once for all admin listeners of this process. */
const loadOnce = once(loadScript);

/** Creates the routes of the console. @param load loads the script; by default the script of this program */
export function consoleRoutes(load = loadOnce): [path: string, route: AdminRoute][] {
  return [
    ["/", { GET: async () => toPage(await withMaxWait(load().then(({ file }) => file.digest()))) }],
    ["/console.js", { GET: async ({ request, query }) => toScriptResponse(request, await load(), query.size > 0) }],
    [noticesPath, { GET: async () => toNoticesResponse(await load()) }],
  ];
}

/** The icon in a browser's tab: a shop front, in a colour that is visible on a light and on a dark tab. */
const icon =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="5" fill="#1976d2"/>' +
      '<path fill="#fff" d="M5 5h14v2H5zm0 3h14l1 5v2h-1v5h-2v-5h-4v5H5v-5H4v-2zm2 7v3h4v-3z"/></svg>',
  );

/** Maximum milliseconds that the page waits for its script. Bundling the script in a checkout takes about 600 ms. */
const maxWaitMs = 200;

/** Returns the value, or undefined if it takes longer than `maxWaitMs`. */
async function withMaxWait<T>(value: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), maxWaitMs);
  return Promise.race([value, promise]).finally(() => clearTimeout(timer));
}

/**
 * Creates the page. Its content security policy allows only resources of this address, and style elements with a random nonce, which the script adds.
 * @param digest the digest of the script; undefined while the script is being built. The page then says so until the script has loaded
 */
function toPage(digest: string | undefined): AdminContent {
  const nonce = randomText(22);
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ];
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="style-nonce" content="${nonce}">
<link rel="icon" href="${icon}">
<title>Storefront</title>
<script type="module" src="/console.js${digest ? `?${digest}` : ""}"></script>
</head>
<body><div id="root">${digest ? "" : "<p>The console is being built, once after each start from a checkout. It opens in a moment.</p>"}</div></body>
</html>
`;
  const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy.join("; ") };
  return { body, headers };
}

/** Creates the response with the script. @param isNamed whether the URL contains the digest. A browser may then cache the script for ever */
async function toScriptResponse(
  { headers }: WireRequest,
  { file }: ConsoleScript,
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

/** The script of the console. */
export interface ConsoleScript {
  readonly file: StaticFile<"br" | "gzip">;
  /** The licences of the packages in the script. */
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
  const { script, notices } = await buildConsole();
  const br = (bytes: Uint8Array) => promisify(brotliCompress)(bytes, quickly);
  return { file: new StaticFile(() => Buffer.from(script), { br, gzip: gzipWhole }), notices };
}

async function readBundledScript(): Promise<ConsoleScript> {
  const { default: file } = await import("../../dist/console/console.js.br", { with: { type: "file" } });
  const { default: notices } = await import("../../dist/console/console.js.LICENSE.txt", { with: { type: "text" } });
  return { file: fromBrotli(await Bun.file(file).bytes()), notices };
}

/** Makes the file of a script that is already compressed. */
export function fromBrotli(compressed: Uint8Array): ConsoleScript["file"] {
  const make = () => promisify(brotliDecompress)(compressed);
  return new StaticFile(make, { br: async () => compressed, gzip: gzipWhole });
}
