// The console: a page, its script, and the licences of what is in it. Everything else is the API under /operator.

import { randomText } from "../lib/base62.ts";
import { once } from "../lib/once.ts";
import type { WireRequest } from "../wire/request.ts";
import { noticesPath } from "./console-notices.ts";
import { type ConsoleScript, loadScript } from "./console-script.ts";
import type { AdminContent, AdminRoute } from "./handler.ts";

/** Once for all admin listeners of the process. */
const load = once(loadScript);

export function consoleRoutes(): [path: string, route: AdminRoute][] {
  return [
    ["/", { GET: async () => toPage((await load()).digest) }],
    ["/console.js", { GET: async ({ request }) => toScript(request, await load()) }],
    [noticesPath, { GET: async () => toNoticesResponse(await load()) }],
  ];
}

/** The script may add style elements with a random nonce. Nothing else is allowed that is not from this address. */
function toPage(digest: string): AdminContent {
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
<link rel="icon" href="data:,">
<title>Storefront</title>
<script src="/console.js?${digest}" defer></script>
</head>
<body><div id="root"></div></body>
</html>
`;
  const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy.join("; ") };
  return { body, headers };
}

async function toScript({ headers }: WireRequest, script: ConsoleScript): Promise<AdminContent> {
  const accepted = headers.get("accept-encoding") ?? "";
  const coding = ["br", "gzip"].find((name) => new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0)`).test(accepted));
  const body = coding === "br" ? await script.brotli() : coding === "gzip" ? await script.gzip() : await script.plain();
  return {
    body,
    headers: {
      "Content-Type": "text/javascript; charset=utf-8",
      "Cache-Control": "private, max-age=31536000, immutable",
      Vary: "Accept-Encoding",
      ...(coding ? { "Content-Encoding": coding } : {}),
    },
  };
}

function toNoticesResponse({ notices }: ConsoleScript): AdminContent {
  return { body: notices, headers: { "Content-Type": "text/plain; charset=utf-8" } };
}
