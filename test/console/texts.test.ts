// A second language is one more file like texts.ts: no text is written in a component.

import { describe, expect, test } from "bun:test";
import { Glob } from "bun";

const folder = new URL("../../src/console/", import.meta.url).pathname;
const files = [...new Glob("**/*.tsx").scanSync(folder)].sort();

const transpiler = new Bun.Transpiler({ loader: "tsx", target: "browser" });

/** What people read or hear, as properties of the calls that JSX becomes. */
const shown =
  /^\s*"?(?:children|label|title|placeholder|alt|helperText|primaryText|primary|secondary|noOptionsText|aria-label)"?: (?:[^"`\n]*\? )?["`]([^"`]*)/gm;
/** One of several children of an element. */
const child = /^\s*(?:[^"`\n]*\? )?"([^"\n]*(?:\p{Lu}| )[^"\n]*)"(?: : [^"\n]*)?,?$/gmu;

/** Texts that a component shows or reads out. Names of keys (`kbd`) are the same in every language. */
function textsIn(source: string): string[] {
  const code = transpiler.transformSync(source.replaceAll(/<kbd>[^<{]*<\/kbd>/g, "<kbd />"));
  const found = [...code.matchAll(shown), ...code.matchAll(child)].map(([, text = ""]) => text.trim());
  // What a template inserts, the path of a text, and an identifier such as `console:anna` are no words of a language.
  const words = found.map((text) => text.replace(/\$\{.*$/, "")).filter((text) => !/^[a-z_]+[.:][a-z_]+$/.test(text));
  return words.filter((text) => /\p{L}{2}/u.test(text) && text !== "ID");
}

describe("the texts of the console", () => {
  test.each(files)("are not in %s", async (file) => {
    expect(textsIn(await Bun.file(folder + file).text())).toEqual([]);
  });

  test("would be found", () => {
    const source = `const a = <p title="One two">Three {x ? "Four" : y}<kbd>Ctrl</kbd><b aria-label={"Five"} /></p>;`;
    expect(textsIn(source).sort()).toEqual(["Five", "Four", "One two", "Three"]);
  });

  test("are there for every key that a component names", async () => {
    // By its path: the types of the console are of another project, with those of browsers.
    const { texts } = await import(`${folder}texts.ts`);
    const missing: string[] = [];
    for (const file of new Glob("**/*.{ts,tsx}").scanSync(folder)) {
      const source = await Bun.file(folder + file).text();
      for (const [, key = ""] of source.matchAll(/translate\(\s*"([a-z_.]+)"/g)) {
        const text = key.split(".").reduce<unknown>((node, name) => Object(node)[name], texts);
        if (typeof text !== "string") missing.push(`${file}: ${key}`);
      }
    }
    expect(missing).toEqual([]);
  });
});
