// Cursors of the feed: `<digest>.<revision>` (contract section 10, which calls the digest a mark).
//
// The digest is of the site's epoch and the entry with that revision. A revision alone would not be enough: after a restore, or a failover that
// lost the last commits, the journal has other entries with the same revisions. A cursor is accepted only if its entry is still the same.

import { createHash } from "node:crypto";
import type { Change, JournalPage } from "../../model/change.ts";
import type { Head } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";

/** The position of a reader in a site's journal: after the entry `revision`, which has the digest `entryDigest`. */
interface FeedCursor {
  readonly mark: string;
  readonly revision: number;
}

/** The cursor before the first entry. It is valid in every epoch, as long as the first entries are not pruned. */
export const firstCursor = "0.0";

/** The hint for clients with a cursor that became invalid. */
const startAgain = "start again: request `since=now`, read the lists, then follow from that page's `Next`";

const cursorPattern = /^([0-9a-f]{12})\.([1-9][0-9]{0,15})$/;
/** The shape of a cursor of any program version: a text, a dot and digits. A time has colons, so it does not match. */
const cursorShape = /^[^\s.:]+\.[0-9]+$/;

/**
 * Returns the cursor after an entry. Its digest is made of the site's epoch and the stored columns, so it is the same with every engine and in every
 * program version.
 */
export function toCursor(epoch: string, { revision, at, actor, resource, id, operation, body }: Change): string {
  return markOf(JSON.stringify([epoch, revision, at, actor, resource, id, operation]) + body, revision);
}

/**
 * Returns the cursor after the last entry of a journal, if that entry was deleted. This program never deletes it, but other programs may. The
 * digest is of the epoch and the revision only.
 */
export function bareCursor({ epoch, revision }: Head): string {
  return revision === 0 ? firstCursor : markOf(JSON.stringify([epoch, revision]), revision);
}

/**
 * Parses a cursor that a client sent.
 * @param text undefined for the first cursor
 * @throws ProblemError `gone` for a cursor that this program has not made; `bad-request` for a text without the shape of a cursor. Such a text is
 *   a mistake in the client's program, for example a variable without a value. With `gone`, the client would start again and again, for ever
 */
export function parseCursor(text = firstCursor): FeedCursor {
  const cursor = readCursor(text);
  if (cursor) return cursor;
  const shown = text.slice(0, 40).toWellFormed();
  const detail = `invalid cursor \`${shown}\`: a cursor is the \`Cursor\` or \`Next\` of an earlier page`;
  if (cursorShape.test(text)) throw gone(detail);
  throw new Refusal("bad-request", `${detail}, such as \`1f0c63d9a2be.18\``);
}

function readCursor(text: string): FeedCursor | undefined {
  if (text === firstCursor) return { mark: "0", revision: 0 };
  const [, mark = "", digits = ""] = cursorPattern.exec(text) ?? [];
  const revision = Number(digits);
  return mark !== "" && Number.isSafeInteger(revision) ? { mark, revision } : undefined;
}

/** Returns the revision in a stored cursor; undefined if the cursor is malformed. */
export function revisionInCursor(text: string): number | undefined {
  return readCursor(text)?.revision;
}

/**
 * Checks that the journal still has the entry of a cursor, and all entries after it.
 * @param page the journal, read from the cursor's own entry on
 * @throws ProblemError `gone`
 */
export function requireCursor({ head, floor, entries }: JournalPage, { mark, revision }: FeedCursor): void {
  const shown = `${mark}.${revision}`;
  if (revision > head.revision) throw gone(`the cursor \`${shown}\` lies ahead of the last change`);
  if (revision === 0 && floor > 0) throw gone("the first changes of this website are no longer kept");
  if (revision === 0 || (revision === floor && shown === bareCursor({ ...head, revision }))) return;
  if (revision <= floor) throw gone(`the change that the cursor \`${shown}\` names is no longer kept`);
  const [entry] = entries;
  if (entry?.revision === revision && shown === toCursor(head.epoch, entry)) return;
  throw gone(
    `the cursor \`${shown}\` belongs to another history of this website, which was restored or lost its last changes`,
  );
}

/** Returns the error for a cursor from which a client cannot continue. */
export function gone(detail: string): Refusal {
  return new Refusal("gone", `${detail}; ${startAgain}`);
}

function markOf(text: string, revision: number): string {
  return `${createHash("sha256").update(text).digest("hex").slice(0, 12)}.${revision}`;
}
