// Highlights code for the pages. Each language is one expression whose named groups are the kinds of token; the rest stays as it is.
// It is a reading aid, not a parser: what it does not know is plain.

import { escapeHtml } from "./html.ts";

const jsWords =
  "import|from|export|const|let|async|await|function|return|new|if|else|for|of|in|try|catch|throw|instanceof|while";
const pythonWords =
  "import|from|as|def|return|with|for|in|if|else|elif|not|and|or|while|try|except|raise|class|lambda|None|True|False";

/** `c` comment, `s` string, `n` name of a member, header field or attribute, `k` keyword, `v` constant or variable, `u` URL. */
const languages: Readonly<Record<string, RegExp>> = {
  sh: /(?<c>(?<=^|\s)#.*)|(?<u>"?https?:\/\/[^\s"]+"?)|(?<s>"(?:\\[\s\S]|[^"\\])*"|'[^']*')|(?<v>\$\w+)|(?<k>\b(?:curl|npm|npx|node|export|python3|storefront)\b(?=\s))|(?<n>(?<=\s)--?[A-Za-z][\w-]*)/gm,
  json: /(?<n>"(?:\\.|[^"\\])*"(?=\s*:))|(?<s>"(?:\\.|[^"\\])*")|(?<v>\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)/g,
  xml: /(?<c><\?[\s\S]*?\?>|<!--[\s\S]*?-->)|(?<k><\/?[\w:.-]+|\/?>)|(?<n>[\w:.-]+(?==))|(?<s>(?<==)"[^"]*")/g,
  http: /(?<k>^HTTP\/.*)|(?<n>^[A-Za-z-]+(?=: ))/gm,
  js: new RegExp(
    `(?<c>//.*|/\\*[sS]*?\\*/)|(?<s>"(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*'|\`(?:\\\\.|[^\`\\\\])*\`)|(?<k>\\b(?:${jsWords})\\b)|(?<v>\\b(?:true|false|null|undefined|\\d+)\\b)`,
    "g",
  ),
  python: new RegExp(
    `(?<c>#.*)|(?<s>"(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*')|(?<k>\\b(?:${pythonWords})\\b)|(?<v>\\b\\d+\\b)`,
    "g",
  ),
};

/** `text` as HTML. Its text content is `text`, whatever the language is. */
export function highlight(text: string, language: string): string {
  const tokens = languages[language];
  if (!tokens) return escapeHtml(text);
  let html = "";
  let end = 0;
  for (const match of text.matchAll(tokens)) {
    const kind = Object.entries(match.groups ?? {}).find(([, token]) => token !== undefined)?.[0];
    html += `${escapeHtml(text.slice(end, match.index))}<span class="${kind}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(text.slice(end));
}
