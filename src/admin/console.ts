// Serves the console's page, its scripts and the licences of the packages in them. The page gets all its data from the API under /operator.

import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { preferredCoding } from "../http/common/content-negotiation.ts";
import { gzipWhole, StaticFile } from "../http/common/static-file.ts";
import { once } from "../lib/concurrency.ts";
import { randomText } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import type { WireRequest } from "../wire/request.ts";
import { buildConsole, consoleEntry, noticesPath, type PackedConsole, packConsole } from "./console-build.ts";
import type { AdminContent, AdminRequestContext, AdminRoute } from "./handler.ts";
import { hasSessionCookie } from "./session.ts";

/** Shared by all admin listeners of this process. */
const loadOnce = once(loadScript);

/** @param load loads the scripts; by default, this program's */
export function consoleRoutes(load = loadOnce): [path: string, route: AdminRoute][] {
  return [
    ["/", { GET: ({ request }) => respondWithPage(request, load) }],
    ["/console/{script}", { GET: (context) => respondWithScript(context, load) }],
    [
      noticesPath,
      { GET: async () => ({ body: (await load()).notices, headers: { "Content-Type": "text/plain; charset=utf-8" } }) },
    ],
  ];
}

async function respondWithPage({ headers }: WireRequest, load: typeof loadOnce): Promise<AdminContent> {
  const script = await withMaxWait(load());
  return toConsolePage(script, { headers, isSignedIn: hasSessionCookie(headers) });
}

/** How long the page waits for its script. In a checkout, bundling it takes 100 to 600 ms. */
const maxWaitMs = 200;

/** Undefined if it takes too long. */
async function withMaxWait<T>(value: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), maxWaitMs);
  return Promise.race([value, promise]).finally(() => clearTimeout(timer));
}

const scriptType = { "Content-Type": "text/javascript; charset=utf-8" };

/** A page that was sent while the scripts were being built, or by another version during an upgrade, reloads. Nothing is lost, because it's still empty. */
const reload: AdminContent = { body: "location.reload();\n", headers: scriptType };

async function respondWithScript(
  { request, parameters: { script = "" } }: AdminRequestContext,
  load: typeof loadOnce,
): Promise<AdminContent> {
  const file = (await load()).files.get(script);
  if (!file && script.startsWith("main-")) return reload;
  if (!file) throw new ProblemError("not-found", "this version of the console doesn't have this script");
  const coding = preferredCoding(request.headers.get("accept-encoding"), ["br", "gzip"]);
  return {
    body: await file.bytes(coding),
    headers: {
      ...scriptType,
      "Cache-Control": "private, max-age=31536000, immutable",
      Vary: "Accept-Encoding",
      ...(coding ? { "Content-Encoding": coding } : {}),
    },
  };
}

export interface ConsoleScript extends Omit<PackedConsole, "scripts"> {
  /** By name. */
  readonly files: ReadonlyMap<string, StaticFile<"br" | "gzip">>;
}

/**
 * In a checkout, bundles the scripts from source. The package and the executable come with the finished scripts.
 * @throws AggregateError with errors in the source, or Error about the licence of a package
 */
export async function loadScript(): Promise<ConsoleScript> {
  if (existsSync(consoleEntry)) return unpackConsole(await packConsole(await buildConsole(), quickQuality));
  const { default: file } = await import("../../dist/console/console.scripts", { with: { type: "file" } });
  return unpackConsole(await Bun.file(file).json());
}

/** The best compression would take seconds, which is too long for the first page. */
export const quickQuality = 6;

export function unpackConsole({ scripts, ...parts }: PackedConsole): ConsoleScript {
  const files = Object.entries(scripts).map(([name, text]) => {
    const compressed = Buffer.from(text, "base64");
    const make = () => promisify(brotliDecompress)(compressed);
    return [name, new StaticFile(make, { br: async () => compressed, gzip: gzipWhole })] as const;
  });
  return { ...parts, files: new Map(files) };
}

// Until its script runs, the page shows the bar and the menu as empty shapes in the operator's colours. They have the size of the real ones
// (src/console/frame/layout.tsx, src/console/shell/stored.ts), so that nothing moves when the script replaces them.

/** For the browser tab: a shop front, in a colour that shows on both light and dark tabs. */
const icon =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="5" fill="#3451c7"/>' +
      '<path fill="#fff" d="M5 5h14v2H5zm0 3h14l1 5v2h-1v5h-2v-5h-4v5H5v-5H4v-2zm2 7v3h4v-3z"/></svg>',
  );

interface PageReader {
  readonly headers: HeaderFields;
  /** Whether the browser has a session, even one that has ended. Without one, the page shows no menu. */
  readonly isSignedIn: boolean;
}

/**
 * The content security policy only allows resources from this address, and style elements with a random nonce, which the script adds.
 * @param script undefined while it's being built, which the page then says
 */
function toConsolePage(script: ConsoleScript | undefined, { headers, isSignedIn }: PageReader): AdminContent {
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
<html lang="en"${attributesOf(headers.get("cookie"))}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="style-nonce" content="${nonce}">
<link rel="icon" href="${icon}">
<title>Storefront</title>
<style nonce="${nonce}">${style}</style>
${toScriptTags(script ?? { entries: ["main-new.js"], imported: [] })}
</head>
<body>
<div id="frame">${isSignedIn ? bar : ""}<p role="status">${script ? "Loading" : building}</p><noscript><p>The console needs JavaScript.</p></noscript></div>
<div id="root"></div>
</body>
</html>
`;
  return {
    body,
    headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy.join("; ") },
  };
}

/** Without the links, a browser would only find out about imported scripts once it has those that import them. */
function toScriptTags({ entries, imported }: Pick<ConsoleScript, "entries" | "imported">): string {
  const links = imported.map((name) => `<link rel="modulepreload" href="/console/${name}">`);
  return [...entries.map((name) => `<script type="module" src="/console/${name}"></script>`), ...links].join("\n");
}

const building = "Building the console, as on every first start from a checkout. It will open in a moment.";

/** Reads what the operator has chosen from a cookie (`chooseFrame` in src/console/shell/theme.ts). */
function attributesOf(cookie: string | null): string {
  const [, colours, menu] =
    /(?:^|; ?)storefront-frame=(device|light|dark)\.(wide|narrow)(?:;|$)/.exec(cookie ?? "") ?? [];
  return colours ? ` data-colours="${colours}" data-menu="${menu}"` : "";
}

/** Shapes for the bar (menu, site, search, operator) and the menu's groups. */
const groups = [4, 2, 2, 2].map((count) => `<ul>${"<li></li>".repeat(count)}</ul>`).join("");
const bar = `<header><i></i><i></i><i></i><i></i></header><nav aria-hidden="true">${groups}</nav>`;

const lightColours = "--bar:#ebebf0;--line:#e2e2e7;--page:#f5f5f8;--shape:#dcdce3;--text:#5f5f68";
const darkColours = "--bar:#0b0b0d;--line:#2e2e35;--page:#111114;--shape:#2a2a2f;--text:#a3a3ad";

const style = `
html{${lightColours};overflow-y:scroll;background:var(--page)}
@media(prefers-color-scheme:dark){html:not([data-colours=light]){${darkColours}}}
html[data-colours=dark]{${darkColours}}
body{margin:0}
#frame{font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:var(--text)}
#frame header{box-sizing:border-box;display:flex;align-items:center;gap:12px;height:48px;padding:0 14px;border-bottom:1px solid var(--line);background:var(--bar)}
#frame i,#frame li{border-radius:6px;background:var(--shape);animation:shape 1.6s ease-in-out infinite alternate}
#frame i{width:28px;height:28px}
#frame i:nth-child(2){width:140px;margin-right:80px}
#frame i:nth-child(3){width:260px;height:32px;margin:0 auto}
#frame i:nth-child(4){width:72px}
#frame nav{position:fixed;top:48px;bottom:0;left:0;box-sizing:border-box;width:220px;padding:8px 0;border-right:1px solid var(--line);background:var(--bar)}
html[data-menu=narrow] #frame nav{width:56px}
#frame ul{display:grid;gap:21px;list-style:none;margin:0;padding:17px 68px 17px 19px}
#frame li{height:14px}
html[data-menu=narrow] #frame ul{padding-right:19px}
#frame p{margin:0;padding:24px 16px;text-align:center;opacity:0;animation:late .3s 1s forwards}
#frame nav~p{padding-left:236px}
@media(max-width:899.95px){#frame nav{display:none}#frame nav~p{padding-left:16px}#frame i:nth-child(n+3){width:28px;height:28px;margin:0}#frame i:nth-child(2){margin-right:auto}}
@media(prefers-reduced-motion:reduce){#frame *{animation-duration:.01ms!important;animation-iteration-count:1!important}}
@keyframes shape{to{opacity:.5}}
@keyframes late{to{opacity:1}}
`;
