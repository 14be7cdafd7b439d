// The layout of the guide's pages.

const style = `
:root { color-scheme: light dark; --text: light-dark(#1b1f24, #e4e7eb); --ground: light-dark(#fff, #15181c); --soft: light-dark(#f3f4f6, #21262c); --line: light-dark(#d5d9de, #3a4149); --link: light-dark(#0b5cad, #7db7f5); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
header { border-bottom: 1px solid var(--line); }
nav, main { max-width: 52rem; margin: 0 auto; padding: 0 1.25rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding-block: .8rem; font-size: .9rem; }
nav a { text-decoration: none; }
nav a[aria-current] { color: inherit; font-weight: 600; }
main { padding-block: 1rem 4rem; }
a { color: var(--link); }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 1rem 0; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.2rem 0 .6rem; }
code, pre { font: .875rem/1.5 ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; }
:not(pre) > code { background: var(--soft); padding: .1em .3em; border-radius: .25rem; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
pre { margin: .8rem 0; padding: .75rem 1rem; overflow-x: auto; background: var(--soft); border: 1px solid var(--line); border-radius: .4rem; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .95rem; }
th, td { padding: .35rem 1.2rem .35rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
`;

export const htmlType = "text/html; charset=utf-8";

/** The `Content-Security-Policy` of a page: it has inline styles and loads nothing but its script. */
export const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface Link {
  readonly path: string;
  readonly title: string;
}

/** A page as HTML. @param content trusted HTML @param path of the page, which `links` marks as the current one */
export function toPage(title: string, content: string, links: readonly Link[], path: string): string {
  const items = links.map((link) => {
    const current = link.path === path ? ' aria-current="page"' : "";
    return `<a href="${link.path}"${current}>${escapeHtml(link.title)}</a>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
<script src="/docs/assets/page.js" defer></script>
</head>
<body>
<header><nav aria-label="Guide">${items.join("\n")}</nav></header>
<main>
${content}
</main>
</body>
</html>
`;
}

/** The URL of the server in examples. */
const exampleAddress = "http://127.0.0.1:8080";

/** A block of code that the keyboard can scroll. @param address the URL of the server in `text` */
export function codeBlock(text: string, address = exampleAddress, language = ""): string {
  const shown = address === exampleAddress ? "" : ` data-address="${escapeHtml(address)}"`;
  const className = language ? ` class="language-${escapeHtml(language)}"` : "";
  return `<pre tabindex="0" role="group" aria-label="Example"${shown}><code${className}>${escapeHtml(text)}</code></pre>\n`;
}

/** The script of a page: puts the URL of this server into the examples. */
export const pageScript = `for (const code of document.querySelectorAll("pre code")) {
  const address = code.parentElement.dataset.address ?? "${exampleAddress}";
  code.textContent = code.textContent.replaceAll(address, location.origin);
}
`;

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
