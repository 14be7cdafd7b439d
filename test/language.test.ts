// The words of the source and of the tests (docs/glossary.md): names that the glossary replaces, numbers without a unit, and sentences that readers
// had to read twice.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = [...new Bun.Glob("{src,test}/**/*.{ts,tsx,mjs}").scanSync(root)]
  // This file lists the words.
  .filter((file) => !file.includes("node_modules/") && file !== "test/language.test.ts")
  .map((file) => ({ file, ...split(readFileSync(join(root, file), "utf8")) }));
const ownFiles = files.filter(({ file }) => !file.startsWith("src/console/"));

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
    const found = files.flatMap(({ file, comments }) =>
      comments.flatMap(sentencesOf).flatMap((sentence) => (pattern.test(sentence) ? [`${file}: ${sentence}`] : [])),
    );
    expect(found).toEqual([]);
  });
});

test("every test file and every file of the console begins with a comment that says what it shows", () => {
  const commented = files.filter(({ file }) => file.endsWith(".test.ts") || file.startsWith("src/console/"));
  expect(commented.filter(({ startsWithComment }) => !startsWithComment).map(({ file }) => file)).toEqual([]);
});

describe("titles of tests", () => {
  test.each(hardSentences)("%s", (_, pattern) => {
    const found = files.flatMap(({ file, titles }) =>
      titles.flatMap((title) => (pattern.test(title) ? [`${file}: ${title}`] : [])),
    );
    expect(found).toEqual([]);
  });

  test("name their case in words: not by a value in brackets, and not by its number in the table", () => {
    const found = files.flatMap(({ file, titles }) =>
      titles.flatMap((title) => (/\([^)]*%[pj][^)]*\)|%#/.test(title) ? [`${file}: ${title}`] : [])),
    );
    expect(found).toEqual([]);
  });
});

describe("names", () => {
  test("have no word that the glossary replaces", () => {
    const found = ownFiles.flatMap(({ file, code }) =>
      [...new Set(namesIn(code))].filter(hasReplacedWord).map((name) => `${file}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  test("of files have none either", () => {
    const paths = ownFiles.map(({ file }) => file);
    const found = paths.filter((path) => path.split(/[/.-]/).some((word) => replacedWords.test(word)));
    expect(found).toEqual([]);
  });

  test("of numbers that are times have a unit", () => {
    const times = "time|interval|timeout|pause|age|lifetime|wait|delay|grace|period|duration|patience";
    const suffixes = times.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
    const number = "(?:\\d|\\((?![^()]*\\)\\s*=>))";
    const constant = new RegExp(`^\\s*(?:export )?const (${times}|\\w*(?:${suffixes})) = ${number}`, "gm");
    expect(
      ownFiles.flatMap(({ file, code }) => [...code.matchAll(constant)].map(([, name]) => `${file}: ${name}`)),
    ).toEqual([]);
  });

  test("of exported functions are not participles and do not begin with a preposition", () => {
    const exported = /^export (?:async )?function\*? (\w+)/gm;
    const unclear =
      /^(?:[a-z]+ed|gone|[a-z]+ed(?:By|In|At|From|For)[A-Z]\w*|(?:since|after|before|until|in|at|by)(?:[A-Z]\w*)?)$/;
    const names = ownFiles.flatMap(({ code }) => [...code.matchAll(exported)].map(([, name = ""]) => name));
    expect(names.filter((name) => unclear.test(name))).toEqual([]);
  });

  test("are not excepted that do not exist", () => {
    const names = new Set(ownFiles.flatMap(({ code }) => namesIn(code)));
    expect(Object.keys(nameExceptions).filter((name) => !names.has(name))).toEqual([]);
  });
});

/** Comments, the titles of tests, and the code without comments and without the texts of strings. */
function split(text: string): { startsWithComment: boolean; comments: string[]; titles: string[]; code: string } {
  const strings = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;
  const blocks = /^[ \t]*\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+/gm;
  const title =
    /(?:^|[\])])[ \t]*(?:(?:test|describe)[.\w]*)?\((?:"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`), (?:async )?\(/gm;
  const code = text.replaceAll(blocks, "");
  return {
    startsWithComment: text.startsWith("//"),
    comments: text.match(blocks) ?? [],
    titles: [...code.matchAll(title)].map(([, quoted, template]) => quoted ?? template ?? ""),
    code: code.replaceAll(strings, '""'),
  };
}

function sentencesOf(comment: string): string[] {
  const text = comment
    .replaceAll(/^[ \t]*(?:\/\*\*?|\*\/?|\/\/)|\*\/$/gm, " ")
    .replaceAll(/@(?:param|returns|throws)\b/g, ". ");
  return text
    .replaceAll(/\s+/g, " ")
    .trim()
    .split(/(?<=[.:;!?]) (?=[A-Z`@])/);
}

function namesIn(code: string): string[] {
  return code.match(/[A-Za-z_$][\w$]*/g) ?? [];
}

function hasReplacedWord(name: string): boolean {
  const words = name.replaceAll(/[lL]ook-?[uU]p/g, "").match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  return !Object.hasOwn(nameExceptions, name) && words.some((word) => replacedWords.test(word.toLowerCase()));
}
