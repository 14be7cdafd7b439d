// Feed cursors: `<digest>.<revision>` (contract section 10).
//
// The digest covers the site's epoch and the entry of that revision. A revision alone wouldn't do: after a restore, or a failover that lost the last
// commits, the journal has different entries with the same revisions. A cursor is only accepted while its entry is still the same.

import { createHash } from "node:crypto";
import type { Change, JournalPage } from "../../model/change.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";

/** A position in a site's journal: after entry `revision`, whose digest is `entryDigest`. */
interface FeedCursor {
  readonly entryDigest: string;
  readonly revision: number;
}

/** Before the first entry. Valid in every epoch, as long as the first entries haven't been pruned. */
export const firstCursor = "0.0";

const restartHint = "start over: request `since=now`, read the lists, then continue from that page's `Next`";

const cursorPattern = /^([0-9a-f]{12})\.([1-9][0-9]{0,15})$/;
/** What a cursor looks like in any version of the program: text, a dot and digits. A time has colons, so it doesn't match. */
const cursorShape = /^[^\s.:]+\.[0-9]+$/;

/**
 * Returns the cursor after an entry. The digest is made from the site's epoch and the stored columns, so it's the same with every engine and version
 * of the program.
 */
export function toCursor(epoch: string, { revision, at, actor, resource, id, operation, body }: Change): string {
  return formatCursor(JSON.stringify([epoch, revision, at, actor, resource, id, operation]) + body, revision);
}

/** Returns the cursor after an entry that's no longer stored, such as the last one pruned. Its digest only covers the epoch and revision. */
export function cursorWithoutEntry({ epoch, revision }: Head): string {
  return revision === 0 ? firstCursor : formatCursor(JSON.stringify([epoch, revision]), revision);
}

/**
 * Parses a cursor sent by a client.
 * @param text undefined for the first cursor
 * @throws ProblemError `gone` for a cursor that this program didn't make; `bad-request` for text that doesn't even look like a cursor. That's a bug
 * in the client, such as an unset variable, and with `gone` it would start over forever
 */
export function parseCursor(text = firstCursor): FeedCursor {
  const cursor = tryParseCursor(text);
  if (cursor) return cursor;
  const shown = text.slice(0, 40).toWellFormed();
  const detail = `invalid cursor \`${shown}\`: use the \`Cursor\` or \`Next\` from an earlier page`;
  if (cursorShape.test(text)) throw cursorGoneError(detail);
  throw new ProblemError("bad-request", `${detail}, such as \`1f0c63d9a2be.18\``);
}

function tryParseCursor(text: string): FeedCursor | undefined {
  if (text === firstCursor) return { entryDigest: "0", revision: 0 };
  const [, entryDigest = "", digits = ""] = cursorPattern.exec(text) ?? [];
  const revision = Number(digits);
  return entryDigest !== "" && Number.isSafeInteger(revision) ? { entryDigest, revision } : undefined;
}

/** Returns the revision in a stored cursor; undefined if it isn't one of ours. */
export function tryParseCursorRevision(text: string): number | undefined {
  return tryParseCursor(text)?.revision;
}

/** Returns the revision in a cursor of any version of the program, without checking it. The page after the cursor starts with the next change. */
export function revisionInCursor(cursor: string): number {
  return Number(cursor.slice(cursor.lastIndexOf(".") + 1));
}

/** Returns the digest in a cursor without checking it. Together with the revision, it identifies the entry. */
export function digestInCursor(cursor: string): string {
  return cursor.slice(0, cursor.lastIndexOf("."));
}

/** Whether an argument on the command line is meant as a cursor, as opposed to a time or an age. */
export function isCursorLike(text: string): boolean {
  return /^[0-9a-f]{1,32}\.[0-9]{1,16}$/.test(text);
}

/**
 * Checks that the journal still has the cursor's entry and everything after it.
 * @param entries starting with the cursor's entry
 * @throws ProblemError `gone`
 */
export function requireCursorInJournal(
  { head, floor, entries }: JournalPage,
  { entryDigest, revision }: FeedCursor,
): void {
  const shown = `${entryDigest}.${revision}`;
  if (revision > head.revision) throw cursorGoneError(`the cursor \`${shown}\` is ahead of the last change`);
  if (revision === 0 && floor > 0) throw cursorGoneError("this site's first changes have been pruned");
  if (revision === 0 || (revision === floor && shown === cursorWithoutEntry({ ...head, revision }))) return;
  if (revision <= floor) throw cursorGoneError(`the change at the cursor \`${shown}\` has been pruned`);
  const [entry] = entries;
  if (entry?.revision === revision && shown === toCursor(head.epoch, entry)) return;
  throw cursorGoneError(
    `the cursor \`${shown}\` doesn't match a change of this site: it's from another site or sandbox, or since then, the site was restored, its sandbox renewed or its last changes lost`,
  );
}

/** The error for a cursor that a client can't continue from. */
export function cursorGoneError(detail: string): ProblemError {
  return new ProblemError("gone", `${detail}; ${restartHint}`);
}

function formatCursor(text: string, revision: number): string {
  return `${createHash("sha256").update(text).digest("hex").slice(0, 12)}.${revision}`;
}
