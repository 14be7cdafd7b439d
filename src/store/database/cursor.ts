// Cursors of the feed: `<digest>.<revision>` (contract section 10).
//
// The digest is of the site's epoch and the entry with that revision. A revision alone would not be enough: after a restore, or a failover that
// lost the last commits, the journal has other entries with the same revisions. A cursor is accepted only if its entry is still the same.

import { createHash } from "node:crypto";
import type { Change, JournalPage } from "../../model/change.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";

/** The position of a reader in a site's journal: after the entry `revision`, which has the digest `entryDigest`. */
interface FeedCursor {
  readonly entryDigest: string;
  readonly revision: number;
}

/** The cursor before the first entry. It is valid in every epoch, as long as the first entries are not pruned. */
export const firstCursor = "0.0";

/** The hint for clients with a cursor that became invalid. */
const restartHint = "start again: request `since=now`, read the lists, then follow from that page's `Next`";

const cursorPattern = /^([0-9a-f]{12})\.([1-9][0-9]{0,15})$/;
/** The shape of a cursor of any program version: a text, a dot and digits. A time has colons, so it does not match. */
const cursorShape = /^[^\s.:]+\.[0-9]+$/;

/**
 * Returns the cursor after an entry. Its digest is made of the site's epoch and the stored columns, so it is the same with every engine and in every
 * program version.
 */
export function toCursor(epoch: string, { revision, at, actor, resource, id, operation, body }: Change): string {
  return formatCursor(JSON.stringify([epoch, revision, at, actor, resource, id, operation]) + body, revision);
}

/**
 * Returns the cursor after an entry that is not stored any more, such as the last entry that was pruned. Its digest is of the epoch and the revision
 * only.
 */
export function cursorWithoutEntry({ epoch, revision }: Head): string {
  return revision === 0 ? firstCursor : formatCursor(JSON.stringify([epoch, revision]), revision);
}

/**
 * Parses a cursor that a client sent.
 * @param text undefined for the first cursor
 * @throws ProblemError `gone` for a cursor that this program has not made; `bad-request` for a text without the shape of a cursor. Such a text is
 *   a mistake in the client's program, for example a variable without a value. With `gone`, the client would start again and again, for ever
 */
export function parseCursor(text = firstCursor): FeedCursor {
  const cursor = tryParseCursor(text);
  if (cursor) return cursor;
  const shown = text.slice(0, 40).toWellFormed();
  const detail = `invalid cursor \`${shown}\`: a cursor is the \`Cursor\` or \`Next\` of an earlier page`;
  if (cursorShape.test(text)) throw cursorGoneError(detail);
  throw new ProblemError("bad-request", `${detail}, such as \`1f0c63d9a2be.18\``);
}

function tryParseCursor(text: string): FeedCursor | undefined {
  if (text === firstCursor) return { entryDigest: "0", revision: 0 };
  const [, entryDigest = "", digits = ""] = cursorPattern.exec(text) ?? [];
  const revision = Number(digits);
  return entryDigest !== "" && Number.isSafeInteger(revision) ? { entryDigest, revision } : undefined;
}

/** Returns the revision in a stored cursor; undefined if the text is not a cursor of this program. */
export function tryParseCursorRevision(text: string): number | undefined {
  return tryParseCursor(text)?.revision;
}

/** Returns the revision in a cursor of any program version, and does not check the text. The page after the cursor begins with the next change. */
export function revisionInCursor(cursor: string): number {
  return Number(cursor.slice(cursor.lastIndexOf(".") + 1));
}

/** Returns the digest in a cursor, and does not check the text. Digest and revision together identify the entry. */
export function digestInCursor(cursor: string): string {
  return cursor.slice(0, cursor.lastIndexOf("."));
}

/** Whether a text in a command is meant as a cursor, and not as a time or an age. */
export function isCursorLike(text: string): boolean {
  return /^[0-9a-f]{1,32}\.[0-9]{1,16}$/.test(text);
}

/**
 * Checks that the journal still has the entry of a cursor, and all entries after it.
 * @param entries read from the cursor's own entry on
 * @throws ProblemError `gone`
 */
export function requireCursorInJournal(
  { head, floor, entries }: JournalPage,
  { entryDigest, revision }: FeedCursor,
): void {
  const shown = `${entryDigest}.${revision}`;
  if (revision > head.revision) throw cursorGoneError(`the cursor \`${shown}\` lies ahead of the last change`);
  if (revision === 0 && floor > 0) throw cursorGoneError("the first changes of this site are no longer kept");
  if (revision === 0 || (revision === floor && shown === cursorWithoutEntry({ ...head, revision }))) return;
  if (revision <= floor) throw cursorGoneError(`the change that the cursor \`${shown}\` names is no longer kept`);
  const [entry] = entries;
  if (entry?.revision === revision && shown === toCursor(head.epoch, entry)) return;
  throw cursorGoneError(
    `the cursor \`${shown}\` does not name a change of this site: it belongs to another site or sandbox, or the site was restored, its sandbox renewed or its last changes lost after the cursor was made`,
  );
}

/** Returns the error for a cursor from which a client cannot continue. */
export function cursorGoneError(detail: string): ProblemError {
  return new ProblemError("gone", `${detail}; ${restartHint}`);
}

function formatCursor(text: string, revision: number): string {
  return `${createHash("sha256").update(text).digest("hex").slice(0, 12)}.${revision}`;
}
