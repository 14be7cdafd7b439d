// Guesses which command was meant: `site add` for `create-site`, `add site` or `site ad`.

import { findNearest } from "../lib/text.ts";

/** Our word first, then what other programs call it. */
const synonyms: readonly (readonly string[])[] = [
  ["add", "create", "new"],
  ["remove", "delete", "rm", "drop"],
  ["revoke", "delete", "remove", "disable"],
  ["list", "ls"],
  ["show", "get", "info"],
  ["set", "edit", "update", "change", "rename"],
  ["serve", "start", "run", "server"],
  ["site", "shop", "website", "tenant"],
  ["sandbox", "test", "staging", "playground"],
  ["key", "token", "apikey"],
  ["operator", "user", "admin", "account", "console"],
  ["link", "login", "signin", "invite"],
  ["signout", "logout"],
  ["webhook", "hook", "callback", "subscription"],
  ["pause", "disable", "stop"],
  ["resume", "enable", "start"],
  ["rewind", "replay", "resend"],
  ["deliveries", "attempts"],
  ["import", "load", "upload"],
  ["export", "download"],
  ["backup", "dump", "save"],
  ["copy", "migrate", "move"],
  ["journal", "history", "log", "audit"],
  ["undo", "revert", "rollback"],
  ["check", "verify", "validate"],
  ["health", "ready", "status", "ping"],
];

const maxSuggestions = 3;

/**
 * Returns up to three commands that share the best score, in the order of `paths`.
 * @param paths all commands, such as `site` and `site add`
 * @param operands the words that were typed; only the first two count
 */
export function suggestCommands(paths: readonly string[], operands: readonly string[]): string[] {
  const words = operands.slice(0, 2).flatMap((operand) =>
    operand
      .toLowerCase()
      .slice(0, 40)
      .split(/[-_:./]/),
  );
  const vocabulary = [...new Set(paths.flatMap((path) => [...wordsOf(path), ...joinedWordsOf(path)]))];
  const scored = paths.map((path) => {
    const scores = [wordsOf(path), joinedWordsOf(path)].map((known) => scoreOf(known, words, vocabulary));
    return { path, score: Math.max(...scores) };
  });
  const best = Math.max(...scored.map(({ score }) => score));
  return best > 0
    ? scored
        .filter(({ score }) => score === best)
        .map(({ path }) => path)
        .slice(0, maxSuggestions)
    : [];
}

function wordsOf(path: string): string[] {
  return path.split(/[- ]/);
}

/** The words without hyphens, because people type `signout` for `sign-out`. */
function joinedWordsOf(path: string): string[] {
  return path.replaceAll("-", "").split(" ");
}

/**
 * How well `words` match a command: the sum of the similarities, minus one for each of the command's words that nothing matches. 0 if its last word
 * is one of those.
 * @param vocabulary the words of all commands
 */
function scoreOf(path: readonly string[], words: readonly string[], vocabulary: readonly string[]): number {
  const found = path.map((known) => Math.max(0, ...words.map((word) => similarity(word, known, vocabulary))));
  return found.at(-1) === 0
    ? 0
    : found.reduce((sum, score) => sum + score, 0) - found.filter((score) => score === 0).length;
}

/** 4: the same word; 3: its plural or singular; 2: a synonym; 1: nothing in `vocabulary` is spelled more like it; 0: unrelated. */
function similarity(word: string, known: string, vocabulary: readonly string[]): number {
  if (word === known) return 4;
  if (word === `${known}s` || `${word}s` === known) return 3;
  if (synonyms.some((group) => group.includes(known) && group.includes(word.replace(/(?<=...)s$/, "")))) return 2;
  return findNearest(word, vocabulary) === known ? 1 : 0;
}
