// The page of the console as it arrives, before its script runs: the bar and the menu as empty shapes, in the colours that the operator has chosen.
// The script then replaces them by the real ones of the same size (src/console/frame/layout.tsx, src/console/shell/stored.ts), so that nothing moves.

import { randomText } from "../lib/text.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import type { AdminContent } from "./handler.ts";

/** The icon in a browser's tab: a shop front, in a colour that is visible on a light and on a dark tab. */
const icon =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="5" fill="#3451c7"/>' +
      '<path fill="#fff" d="M5 5h14v2H5zm0 3h14l1 5v2h-1v5h-2v-5h-4v5H5v-5H4v-2zm2 7v3h4v-3z"/></svg>',
  );

/** The request of the page, from which its first look follows. */
interface PageReader {
  readonly headers: HeaderFields;
  /** Whether the browser has a session, which may have ended. Without one, the page shows no menu. */
  readonly isSignedIn: boolean;
}

/**
 * Creates the page. Its content security policy allows only resources of this address, and style elements with a random nonce, which the script adds.
 * @param digest the digest of the script; undefined while the script is being built. The page then says so until the script has loaded
 */
export function toConsolePage(digest: string | undefined, { headers, isSignedIn }: PageReader): AdminContent {
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
<script type="module" src="/console.js${digest ? `?${digest}` : ""}"></script>
</head>
<body>
<div id="frame">${isSignedIn ? bar : ""}<p role="status">${digest ? "Loading" : building}</p><noscript><p>The console needs JavaScript.</p></noscript></div>
<div id="root"></div>
</body>
</html>
`;
  return {
    body,
    headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy.join("; ") },
  };
}

const building = "The console is being built, once after each start from a checkout. It opens in a moment.";

/** Returns the attributes for the choices that the browser keeps (`chooseFrame` in src/console/shell/theme.ts). Ignores any other cookie. */
function attributesOf(cookie: string | null): string {
  const [, colours, menu] =
    /(?:^|; ?)storefront-frame=(device|light|dark)\.(wide|narrow)(?:;|$)/.exec(cookie ?? "") ?? [];
  return colours ? ` data-colours="${colours}" data-menu="${menu}"` : "";
}

/** The shapes of the bar (menu, shop, search, operator) and of the menu's groups. */
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
