// Renders Markdown for the documentation pages. Headings get anchors, code blocks get labels and language tabs, tables can be scrolled with the keyboard, and links
// to files in the repository become links to this server.

import { Marked, type Token, type Tokens } from "marked";
import { once } from "../../lib/concurrency.ts";
import { escapeHtml } from "../../lib/text.ts";
import { changesRecords, writeWarning } from "./key-box.ts";
import { toAnchor } from "./layout.ts";

interface Heading {
  readonly id: string;
  /** As HTML. */
  readonly title: string;
}

interface RenderedMarkdown {
  readonly html: string;
  /** The headings of level 2. */
  readonly headings: readonly Heading[];
}

/**
 * @param folder the text's folder within docs/, such as `problems/`, which links are relative to
 * @param isServed whether this server has a path. Links to other paths under /docs become plain text
 */
export function renderMarkdown(text: string, folder = "", isServed = (_: string) => true): RenderedMarkdown {
  const marked = createMarked(folder, isServed);
  const tokens: readonly Token[] = marked.lexer(asServed(text));
  const titles = tokens.filter((token): token is HeadingToken => token.type === "heading");
  addIds(titles);
  const headings = titles
    .filter(({ depth }) => depth === 2)
    .map((token) => ({ id: idOf(token), title: marked.parseInline(token.text, { async: false }) }));
  return { html: marked.parser([...withGroups(tokens)]), headings };
}

/** Removes parts about files that servers don't have, such as pictures. */
export function asServed(text: string): string {
  return text.replaceAll(/<!-- only in the repository -->[\s\S]*?<!-- end -->\n/g, "");
}

interface HeadingToken extends Tokens.Heading {
  id?: string;
}

/** Gives each heading on a page its own ID. The second `Added` gets `added-2`. */
function addIds(titles: readonly HeadingToken[]): void {
  const counts = new Map<string, number>();
  for (const token of titles) {
    const anchor = toAnchor(token.text);
    const count = (counts.get(anchor) ?? 0) + 1;
    counts.set(anchor, count);
    token.id = count === 1 ? anchor : `${anchor}-${count}`;
  }
}

function idOf({ id, text }: HeadingToken): string {
  return id ?? toAnchor(text);
}

const sentences = once(() => createMarked("", () => true));

/** Renders a sentence with links and code, without a paragraph around it. */
export function renderSentence(text: string): string {
  return sentences().parseInline(text, { async: false });
}

function createMarked(folder: string, isServed: (path: string) => boolean): Marked {
  return new Marked({
    renderer: {
      heading(token) {
        const { tokens, depth } = token;
        const id = idOf(token);
        const html = this.parser.parseInline(tokens);
        const link = depth === 1 ? "" : ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
        return `<h${depth} id="${id}">${html}${link}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const path = toPath(href, folder);
        const content = this.parser.parseInline(tokens);
        const isDead = path.startsWith("/docs/") && !isServed(path.replace(/#.*/, ""));
        return isDead ? content : `<a href="${escapeHtml(path)}">${content}</a>`;
      },
      code(token) {
        const { blocks } = token as Partial<CodeGroup>;
        if (blocks && blocks.length > 1) return languageTabs(blocks);
        return codeBlock(blocks?.[0] ?? toBlock(token));
      },
      codespan({ text }) {
        // Otherwise, browsers would break lines after the hyphens of names and options.
        const html = escapeHtml(text).replaceAll(
          /(?<![\w-])-{0,2}\w+(?:-\w+)+(?![\w-])|(?<![\w-])--?[a-z]\w*(?![\w-])/gi,
          (word) => (word.length > 30 ? word : `<span class="whole">${word}</span>`),
        );
        return `<code>${withAddress(html)}</code>`;
      },
      // An empty header cell becomes a data cell, so that screen readers don't announce an empty header.
      tablecell({ tokens, header }) {
        const tag = header && tokens.length > 0 ? "th" : "td";
        return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>\n`;
      },
      table(token) {
        const [head = "", ...rows] = [token.header, ...token.rows].map((cells) =>
          this.tablerow({ text: cells.map((cell) => this.tablecell(cell)).join("") }),
        );
        return scrolledTable(`<thead>${head}</thead><tbody>${rows.join("")}</tbody>`);
      },
    },
  });
}

function scrolledTable(content: string): string {
  return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${content}</table></div>\n`;
}

/** The same example in several languages, as one token. */
interface CodeGroup extends Tokens.Code {
  readonly blocks: CodeBlock[];
}

/** Joins adjacent code blocks in the languages a reader can choose, and labels the code block after them as output. Marks blocks that change records. */
function withGroups(tokens: readonly Token[]): Token[] {
  const joined: Token[] = [];
  const shown = tokens.filter(({ type }) => type !== "space");
  for (const [index, token] of shown.entries()) {
    const last = joined.at(-1) as CodeGroup | undefined;
    if (token.type !== "code") joined.push(token);
    else if (!isSpoken(token)) joined.push(isExample(last) ? { ...token, lang: `${token.lang} output` } : token);
    else {
      const block = { ...toBlock(token as Tokens.Code), output: outputAfter(shown.slice(index + 1)) };
      if (isExample(last)) last.blocks.push(block);
      else joined.push({ ...token, blocks: [block] } as CodeGroup);
    }
  }
  return joined;
}

function isExample(token: Token | undefined): token is CodeGroup {
  return token?.type === "code" && "blocks" in token;
}

/** Returns the next code block that isn't an example; empty if something else comes first. */
function outputAfter(tokens: readonly Token[]): string {
  const next = tokens.find((token) => token.type !== "code" || !isSpoken(token));
  return next?.type === "code" ? next.text : "";
}

function isSpoken({ lang }: Token & { lang?: string }): boolean {
  return spoken.includes((lang ?? "").split(" ", 1)[0] as string);
}

/** A block without a language is a command if it starts with a program such as `npm`. */
function toBlock({ text, lang = "" }: Tokens.Code): CodeBlock {
  const [named = "", role] = lang.split(" ");
  const language = named || (/^(?:np[mx]|storefront|curl|docker|sudo|systemctl) /.test(text) ? "sh" : "text");
  const output = language === "text" ? "Output" : "Response";
  return { text, language, ...(role === "output" ? { label: output } : {}) };
}

/** Maps a link in the repository to this server: `../formats.md#xml` in problems/ becomes `/docs/formats#xml`. */
export function toPath(href: string, folder: string): string {
  if (/^(?:[a-z]+:|\/|#)/.test(href)) return href;
  const { pathname, hash } = new URL(href, `file:///docs/${folder}`);
  const path = pathname.startsWith("/docs/") ? pathname : `/docs${pathname}`;
  const page = path.replace(/\.md$/, "").replace(/\/README$/, "");
  return (page === "/docs/CHANGELOG" ? "/docs/operating/changelog" : page) + hash;
}

// Code blocks, and the buttons that select a language or format. Without scripts, all blocks are shown, each with its label.

/** The server's URL in examples, which the page's script replaces with its own. */
export const exampleAddress = "http://127.0.0.1:8080";

const labels: Readonly<Record<string, string>> = {
  sh: "curl",
  js: "JavaScript",
  python: "Python",
  json: "JSON",
  xml: "XML",
  http: "HTTP",
  php: "PHP",
  csharp: "C#",
  text: "Text",
};

/** The languages readers can choose, in the order of their buttons. */
const spoken: readonly string[] = ["sh", "js", "python"];

interface CodeBlock {
  readonly text: string;
  readonly language: string;
  /** The text above the block. Default: the name of the language. */
  readonly label?: string;
  /** The server's URL in `text`. */
  readonly address?: string;
  /** For an example that readers can run, the code block after it, which may be empty. */
  readonly output?: string;
}

/** A code block with a copy button, which can be scrolled with the keyboard. */
export function codeBlock(
  { text, language, label, address = exampleAddress, output }: CodeBlock,
  className = "",
): string {
  const name = label ?? labelOf(text, language);
  const html = withAddress(highlight(text, language), address);
  const warning = output !== undefined && changesRecords(text, language, output) ? writeWarning : "";
  return `<div class="code${className && ` ${className}`}"><div class="bar"><span>${escapeHtml(name)}</span><button type="button" class="copy">Copy</button></div>${warning}<pre tabindex="0" role="group" aria-label="${escapeHtml(name)} example"><code class="language-${escapeHtml(language)}">${html}</code></pre></div>\n`;
}

/** Marks the server's URL, so that the page's script can replace it. */
function withAddress(html: string, address = exampleAddress): string {
  const text = escapeHtml(address);
  return html.replaceAll(text, `<span class="origin">${text}</span>`);
}

/** The same example in several languages, of which the reader sees one. */
function languageTabs(blocks: readonly CodeBlock[]): string {
  const bodies = blocks.map((block) => codeBlock(block, `in-${block.language}`));
  return `<div class="tabs">${languageChoice(blocks.map(({ language }) => language))}${bodies.join("")}</div>\n`;
}

/** Buttons that select the language of all examples on a page. */
export function languageChoice(languages: readonly string[]): string {
  return choice(
    "Language",
    languages.map((language) => choiceButton("lang", language, labels[language] ?? language)),
  );
}

/** Buttons that select the format of all examples on a page. */
export function formatChoice(): string {
  return choice("Format", [choiceButton("format", "json", "JSON"), choiceButton("format", "xml", "XML")]);
}

function choice(name: string, buttons: readonly string[]): string {
  return `<div class="choice" role="group" aria-label="${name}">${buttons.join("")}</div>`;
}

function choiceButton(name: string, value: string, label: string): string {
  return `<button type="button" data-set="${name}=${value}">${label}</button>`;
}

function labelOf(text: string, language: string): string {
  if (language === "sh" && !/\bcurl\b/.test(text)) return "Shell";
  return labels[language] ?? "Text";
}

// Highlights code. Each language has one regular expression, with a named group for each kind of token.

const jsWords =
  "import|from|export|const|let|async|await|function|return|new|if|else|for|of|in|try|catch|throw|instanceof|while";
const pythonWords =
  "import|from|as|def|return|with|for|in|if|else|elif|not|and|or|while|try|except|raise|class|lambda|None|True|False";

/** `c` comment, `s` string, `n` name of a member, header or attribute, `k` keyword, `v` constant or variable, `u` URL. */
const languages: Readonly<Record<string, RegExp>> = {
  sh: /(?<c>(?<=^|\s)#.*)|(?<u>"?https?:\/\/[^\s"]+"?)|(?<s>"(?:\\[\s\S]|[^"\\])*"|'[^']*')|(?<v>\$\w+)|(?<k>\b(?:curl|npm|npx|node|export|python3|storefront)\b(?=\s))|(?<n>(?<=\s)--?[A-Za-z][\w-]*)/gm,
  json: /(?<n>"(?:\\.|[^"\\])*"(?=\s*:))|(?<s>"(?:\\.|[^"\\])*")|(?<v>\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)/g,
  xml: /(?<c><\?[\s\S]*?\?>|<!--[\s\S]*?-->)|(?<k><\/?[\w:.-]+|\/?>)|(?<n>[\w:.-]+(?==))|(?<s>(?<==)"[^"]*")/g,
  http: /(?<k>^HTTP\/.*)|(?<n>^[A-Za-z-]+(?=: ))/gm,
  js: new RegExp(
    `(?<c>//.*|/\\*[\\s\\S]*?\\*/)|(?<s>"(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*'|\`(?:\\\\.|[^\`\\\\])*\`)|(?<k>\\b(?:${jsWords})\\b)|(?<v>\\b(?:true|false|null|undefined|\\d+)\\b)`,
    "g",
  ),
  python: new RegExp(
    `(?<c>#.*)|(?<s>"(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*')|(?<k>\\b(?:${pythonWords})\\b)|(?<v>\\b\\d+\\b)`,
    "g",
  ),
};

/** The HTML's text content is always exactly `text`. */
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
