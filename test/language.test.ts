// The words of the source (docs/glossary.md): names that the glossary replaces, numbers without a unit, and sentences that readers had to read twice.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const src = fileURLToPath(new URL("../src", import.meta.url));
const sources = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(src)].map((file) => {
  const text = readFileSync(join(src, file), "utf8");
  return { file, ...split(text) };
});
const ownSources = sources.filter(({ file }) => !file.startsWith("console/"));

/** Words that the glossary replaces. The console may use them, because its libraries do. */
const replacedWords = /^(?:look|note|hold|held|fresh|refill|faultless|turn|pace|slot|portion|cold|fold)s?$/;

/** Names that stay for a reason. The list only shrinks. */
const nameExceptions: Readonly<Record<string, string>> = {
  foldCase: "Unicode's term",
};

const hardSentences: readonly (readonly [rule: string, pattern: RegExp])[] = [
  ["begin with a noun or a verb", /^(?:What|Who|Whoever|Those|One (?:that|which|whose|is|was))\b/],
  ["repeat the noun", /\b(?:one that|those that|who is|what (?:is|was))\b/],
  ["say how many", /\b(?:so many|how many times)\b/],
  ["no 'is no'", /\b(?:is|are) (?:no|none)\b/],
  ["name who acts", /\b[Tt]he system\b(?! (?:site|call))/],
  [
    "no picture",
    /\b(?:under way|goes? on|tak(?:es?|en) back|as new as|other history|anew|gives? way|in the place of)\b/,
  ],
];

describe("comments", () => {
  test.each(hardSentences)("%s", (_, pattern) => {
    const found = sources.flatMap(({ file, comments }) =>
      comments.flatMap(sentencesOf).flatMap((sentence) => (pattern.test(sentence) ? [`${file}: ${sentence}`] : [])),
    );
    expect(found).toEqual([]);
  });
});

describe("names", () => {
  test("have no word that the glossary replaces", () => {
    const found = ownSources.flatMap(({ file, code }) =>
      [...new Set(namesIn(code))].filter(hasReplacedWord).map((name) => `${file}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  test("of files have none either", () => {
    const files = ownSources.map(({ file }) => file);
    expect(files.filter((file) => file.split(/[/.-]/).some((word) => replacedWords.test(word)))).toEqual([]);
  });

  test("of numbers that are times have a unit", () => {
    const constant = /^(?:export )?const (\w*(?:Time|Interval|Timeout|Pause|Age|Lifetime|Wait)) = [\d(]/gm;
    expect(
      ownSources.flatMap(({ file, code }) => [...code.matchAll(constant)].map(([, name]) => `${file}: ${name}`)),
    ).toEqual([]);
  });

  test("of exported functions are no participle and do not begin with a preposition", () => {
    const exported = /^export (?:async )?function\*? (\w+)/gm;
    const unclear =
      /^(?:[a-z]+ed|gone|[a-z]+ed(?:By|In|At|From|For)[A-Z]\w*|(?:since|after|before|until|in|at|by)(?:[A-Z]\w*)?)$/;
    const names = ownSources.flatMap(({ code }) => [...code.matchAll(exported)].map(([, name = ""]) => name));
    expect(names.filter((name) => unclear.test(name))).toEqual([]);
  });

  test("are not excepted that do not exist", () => {
    const names = new Set(ownSources.flatMap(({ code }) => namesIn(code)));
    expect(Object.keys(nameExceptions).filter((name) => !names.has(name))).toEqual([]);
  });
});

/** Comments, and the code without them and without the texts of strings. */
function split(text: string): { comments: string[]; code: string } {
  const blocks = /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+/gm;
  return {
    comments: text.match(blocks) ?? [],
    code: text.replaceAll(blocks, "").replaceAll(/"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g, '""'),
  };
}

function sentencesOf(comment: string): string[] {
  const text = comment
    .replaceAll(/^[ \t]*(?:\/\*\*?|\*\/?|\/\/)|\*\/$/gm, " ")
    .replaceAll(/@(?:param|returns|throws)\b/g, ". ");
  return text.replaceAll(/\s+/g, " ").split(/(?<=[.:;!?]) (?=[A-Z`@])/);
}

function namesIn(code: string): string[] {
  return code.match(/[A-Za-z_$][\w$]*/g) ?? [];
}

function hasReplacedWord(name: string): boolean {
  const words = name.replaceAll(/[lL]ook-?[uU]p/g, "").match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  return !Object.hasOwn(nameExceptions, name) && words.some((word) => replacedWords.test(word.toLowerCase()));
}
