// The reference's field for the API key, and the note at each example and form that changes records. `assets/key.js` asks the server which site the key
// belongs to, and updates the notes of the forms.

/** Without scripts, it isn't shown. */
export const keyBox =
  '<div class="key js"><label for="key">Your API key</label><input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="Paste your key here" aria-describedby="key-meaning"><p class="quiet" id="key-meaning" role="status">For the forms and examples on this page, which show it. It’s sent only to this server, and forgotten when you leave the page.</p></div>';

/** The note without a known key. */
export const writeWarning = '<p class="writes">This changes records on the site your key belongs to.</p>';

/** Matches calls that write, by language. In the shell, a command is a line. A call that's visibly a dry run doesn't count. */
const writes: Readonly<Record<string, RegExp>> = {
  sh: /\bcurl\b(?!.*[?&]dryRun=1).* (?:-d|--data\S*|-X (?:POST|PUT|PATCH|DELETE)) /g,
  js: /\bclient\.(?:\w+\.(?:create|update|delete|upsert|sync)|batch|undo)\((?!.*\bdryRun: true)/g,
  python: /\bdata=|"(?:POST|PUT|PATCH|DELETE)"/g,
};

function countWrites(code: string, language: string): number {
  const call = writes[language];
  return call ? (code.replaceAll("\\\n", "").match(call)?.length ?? 0) : 0;
}

/** @param output the code block after the example, which may be empty. If it's a problem, the last call changed nothing */
export function changesRecords(code: string, language: string, output: string): boolean {
  const isRejected = /^HTTP\/1\.1 4|"type": "\/docs\/problems\//m.test(output);
  return countWrites(code, language) > (isRejected ? 1 : 0);
}
