// The commands that are probably meant by an unknown one: `site add` for `create-site`, `add site` or `site ad`.

import { nearest } from "../lib/nearest.ts";

/** Words for the same thing in other programs. */
const synonyms: readonly (readonly string[])[] = [
  ["add", "create", "new"],
  ["remove", "delete", "rm", "drop"],
  ["revoke", "delete", "remove", "disable"],
  ["list", "ls"],
  ["show", "get", "info"],
  ["set", "edit", "update", "change", "rename"],
  ["serve", "start", "run", "server"],
  ["site", "shop", "website", "tenant"],
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

/** Suggestions that are listed. */
const maxSuggestions = 3;

/**
 * The commands whose words are most similar to the first words of a wrong call, the best first; at most 3.
 * @param paths all commands and groups of commands: `site`, `site add`
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

/** Those that have a hyphen, as people write them without: `signout`. */
function joinedWordsOf(path: string): string[] {
  return path.replaceAll("-", "").split(" ");
}

/** How well the words of a command are found among those that were written: 0 if the last of them is not. */
function scoreOf(path: readonly string[], words: readonly string[], vocabulary: readonly string[]): number {
  const found = path.map((known) => Math.max(0, ...words.map((word) => similarity(word, known, vocabulary))));
  return found.at(-1) === 0
    ? 0
    : found.reduce((sum, score) => sum + score, 0) - found.filter((score) => score === 0).length;
}

function similarity(word: string, known: string, vocabulary: readonly string[]): number {
  if (word === known) return 4;
  if (word === `${known}s` || `${word}s` === known) return 3;
  if (synonyms.some((group) => group.includes(known) && group.includes(word.replace(/(?<=...)s$/, "")))) return 2;
  return nearest(word, vocabulary) === known ? 1 : 0;
}
