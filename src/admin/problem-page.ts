// A problem as a page, for someone who typed an address of the admin listener into a browser.

import { randomText } from "../lib/base62.ts";
import type { WireRequest } from "../wire/request.ts";
import type { AdminContent } from "./handler.ts";

interface ShownProblem {
  readonly status: number;
  readonly detail: string;
  /** The ID of the request, under which the log of the server has it. */
  readonly id: string;
}

/** Whether a browser asks for a page. Programs, and the console itself, ask for other types. */
export function isPageWanted({ method, headers }: WireRequest): boolean {
  return method === "GET" && /(^|,)\s*text\/html\b/.test(headers.get("accept") ?? "");
}

export function problemAsPage({ status, detail, id }: ShownProblem): AdminContent {
  const nonce = randomText(22);
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Storefront</title>
<style nonce="${nonce}">
body { font: 16px/1.5 system-ui, sans-serif; max-width: 32em; margin: 15vh auto; padding: 0 1em; overflow-wrap: anywhere }
small { opacity: 0.7 }
</style>
</head>
<body>
<h1>${status === 404 ? "There is nothing at this address" : "This did not work"}</h1>
<p>${escaped(detail.charAt(0).toUpperCase() + detail.slice(1))}.</p>
<p><a href="/">Go to the console</a></p>
<p><small>Status ${status}, request ${escaped(id)}</small></p>
</body>
</html>
`;
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; frame-ancestors 'none'`;
  const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy };
  return { status, body, headers };
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
