// How pages, files to copy and messages call the program.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";

const root = join(import.meta.dir, "../..");

/** All that is printed or published: the texts of the program, its pages, files to copy and scripts. */
const published = [
  "*.{md,json}",
  "{src,bin,docs,examples,deploy,scripts,bench}/**/*.{md,ts,tsx,js,mjs,html,json,yml,yaml,http,sh,service,timer,conf,Caddyfile,py,rb,php,cs,go,java}",
  "{deploy,docs,examples}/**/{Dockerfile,Caddyfile,*.txt}",
];

/** Lines of all published files, with their place. */
async function* lines(): AsyncGenerator<{ place: string; line: string }> {
  for (const pattern of published)
    for (const file of new Glob(pattern).scanSync(root)) {
      const text = await Bun.file(join(root, file)).text();
      for (const [index, line] of text.split("\n").entries()) yield { place: `${file}:${index + 1}`, line };
    }
}

// npm's registry has another project of this name, which npx would download and run.
test("npx: never used to run storefront", async () => {
  const calls: string[] = [];
  for await (const { place, line } of lines())
    if (/\bnpx\b(?: +-[^ ]*)* +(?:@[\w-]+\/)?storefront\b/.test(line)) calls.push(`${place}: ${line.trim()}`);
  expect(calls).toEqual([]);
});

test("crontabs and units: absolute paths", async () => {
  const relative: string[] = [];
  let checked = 0;
  for await (const { place, line } of lines()) {
    if (!/^\s*(?:(?:[\d*][\d*/,-]*\s+){5}|Exec\w+=)\S/.test(line)) continue;
    for (const [program = ""] of line.matchAll(/[^\s=]*\bstorefront(?= [a-z])/g)) {
      checked++;
      if (!program.startsWith("/")) relative.push(`${place}: ${line.trim()}`);
    }
  }
  expect(relative).toEqual([]);
  expect(checked).toBeGreaterThan(4);
});
