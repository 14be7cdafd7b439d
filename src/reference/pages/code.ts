// Blocks of code, and the buttons that choose between blocks. Without a script, all blocks of a choice are shown, each with its label.

import { highlight } from "./highlight.ts";
import { escapeHtml } from "./html.ts";

/** The URL of the server in examples. The script of the page replaces it by the one that the page has. */
export const exampleAddress = "http://127.0.0.1:8080";

/** The names of languages in code blocks. */
const labels: Readonly<Record<string, string>> = {
  sh: "curl",
  js: "JavaScript",
  python: "Python",
  json: "JSON",
  xml: "XML",
  http: "HTTP",
  php: "PHP",
  text: "Text",
};

/** Languages that a reader chooses between, in the order of their buttons. */
export const spoken: readonly string[] = ["sh", "js", "python"];

export interface CodeBlock {
  readonly text: string;
  readonly language: string;
  /** What is above the block. Default: the name of the language. */
  readonly label?: string;
  /** The URL of the server in `text`. */
  readonly address?: string;
}

/** A block of code that the keyboard can scroll, with a button that copies it. */
export function codeBlock({ text, language, label, address = exampleAddress }: CodeBlock, className = ""): string {
  const name = label ?? labelOf(text, language);
  const html = withAddress(highlight(text, language), address);
  return `<div class="code${className && ` ${className}`}"><div class="bar"><span>${escapeHtml(name)}</span><button type="button" class="copy">Copy</button></div><pre tabindex="0" role="group" aria-label="${escapeHtml(name)} example"><code class="language-${escapeHtml(language)}">${html}</code></pre></div>\n`;
}

/** `html` with the URL of the server marked for the script of the page, which puts the one there that the page has. */
export function withAddress(html: string, address = exampleAddress): string {
  const text = escapeHtml(address);
  return html.replaceAll(text, `<span class="origin">${text}</span>`);
}

/** The same example in several languages, of which the reader sees one. */
export function languageTabs(blocks: readonly CodeBlock[]): string {
  const buttons = blocks.map(({ language }) => choiceButton("lang", language, labels[language] ?? language));
  const bodies = blocks.map((block) => codeBlock(block, `in-${block.language}`));
  return `<div class="tabs">${choice("Language", buttons)}${bodies.join("")}</div>\n`;
}

/** Buttons that choose the format of all examples of a page. */
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
