// All texts are in texts.ts and not in components, so that another language needs only one more file.

import { describe, expect, test } from "bun:test";
import { Glob } from "bun";

const folder = new URL("../../src/console/", import.meta.url).pathname;
const files = [...new Glob("**/*.tsx").scanSync(folder)].sort();

const transpiler = new Bun.Transpiler({ loader: "tsx", target: "browser" });

/** The properties with texts that people read or hear, in the calls to which JSX is compiled. */
const shown =
  /^\s*"?(?:children|label|title|placeholder|alt|helperText|primaryText|primary|secondary|noOptionsText|aria-label)"?: (?:[^"`\n]*\? )?["`]([^"`]*)/gm;
/** A text among several children of an element. */
const child = /^\s*(?:[^"`\n]*\? )?"([^"\n]*(?:\p{Lu}| )[^"\n]*)"(?: : [^"\n]*)?,?$/gmu;

/** Returns the texts that a component shows or that screen readers read. Names of keys (`kbd`) are the same in every language. */
function textsIn(source: string): string[] {
  const code = transpiler.transformSync(source.replaceAll(/<kbd>[^<{]*<\/kbd>/g, "<kbd />"));
  const found = [...code.matchAll(shown), ...code.matchAll(child)].map(([, text = ""]) => text.trim());
  // Values in a template, paths of texts, and identifiers such as `console:anna` are not words of a language.
  const words = found.map((text) => text.replace(/\$\{.*$/, "")).filter((text) => !/^[a-z_]+[.:][a-z_]+$/.test(text));
  return words.filter((text) => /\p{L}{2}/u.test(text) && text !== "ID");
}

describe("the texts of the console", () => {
  test.each(files)("are not in %s", async (file) => {
    expect(textsIn(await Bun.file(folder + file).text())).toEqual([]);
  });

  test("are found in components by this test", () => {
    const source = `const a = <p title="One two">Three {x ? "Four" : y}<kbd>Ctrl</kbd><b aria-label={"Five"} /></p>;`;
    expect(textsIn(source).sort()).toEqual(["Five", "Four", "One two", "Three"]);
  });

  test("are read by `translate` alone, whose keys the compiler checks", async () => {
    const others: string[] = [];
    for (const file of new Glob("**/*.{ts,tsx}").scanSync(folder))
      if (/\buseTranslate\b|\/texts\.ts"/.test(await Bun.file(folder + file).text())) others.push(file);
    // locale.ts reads the language of the texts.
    expect(others.sort()).toEqual(["text/locale.ts", "text/translate.ts"]);
  });
});
