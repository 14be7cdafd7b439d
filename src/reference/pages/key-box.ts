// The field for the API key on a page, and the note at each example and form that changes records. `assets/key.js` asks the server what the key opens,
// and writes it into them.

import { escapeHtml } from "../../lib/text.ts";

/** Returns the field, as HTML. If scripts are disabled, it is not shown. */
export function keyBox(label: string): string {
  return `<div class="key js"><label for="key">${escapeHtml(label)}</label><input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="Paste your key here" aria-describedby="key-meaning"><p class="quiet" id="key-meaning" role="status">Paste it to see whether the examples that change records change a live site. The page sends it only to this server, and keeps it until you leave.</p></div>`;
}

/** The note at an example or form that changes records. Without a script, or without a key, it names no site. */
export const writeWarning = '<p class="writes">This changes records of the site that your key opens.</p>';

/** Returns whether a page from Markdown has the field: whether it has examples that may change records of this server. */
export function asksForKey({ text }: { readonly text: string }): boolean {
  const blocks = [...text.matchAll(/^```(sh|js|python)\n([\s\S]*?)^```/gm)];
  return blocks.some(([, language = "", code = ""]) => countWrites(code, language) > 0);
}

/** Matches each call that writes, by language. A command of the shell is a line. A dry run does not write, if its line says so. */
const writes: Readonly<Record<string, RegExp>> = {
  sh: /\bcurl\b(?!.*[?&]dryRun=1).* (?:-d|--data\S*|-X (?:POST|PUT|PATCH|DELETE)) /g,
  js: /\bclient\.(?:\w+\.(?:create|update|delete|upsert)|batch|undo)\((?!.*\bdryRun: true)/g,
  python: /\bdata=|"(?:POST|PUT|PATCH|DELETE)"/g,
};

function countWrites(code: string, language: string): number {
  const call = writes[language];
  return call ? (code.replaceAll("\\\n", "").match(call)?.length ?? 0) : 0;
}

/**
 * Returns whether an example changes records.
 * @param output the block of code after it, with its output; may be empty. If it is a problem, the last call changed nothing
 */
export function changesRecords(code: string, language: string, output: string): boolean {
  const isRejected = /^HTTP\/1\.1 4|"type": "\/docs\/problems\//m.test(output);
  return countWrites(code, language) > (isRejected ? 1 : 0);
}
