import { createHash } from "node:crypto";
import type { Change, JournalPage } from "../../model/change.ts";
import type { Head } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";

/** The position of a reader in a site's journal: after the entry `revision`, which `mark` identifies. */
interface FeedCursor {
  readonly mark: string;
  readonly revision: number;
}

/** The position before the first entry. It is valid in every history that begins there. */
export const firstCursor = "0.0";

/** What a client does whose cursor is no longer valid. */
const startAgain = "start again: request `since=now`, read the lists, then follow from that page's `Next`";

const cursorPattern = /^([0-9a-f]{12})\.([1-9][0-9]{0,15})$/;
/** A cursor of any version of the program: a text, a dot and digits. A time has colons. */
const cursorShape = /^[^\s.:]+\.[0-9]+$/;

/**
 * The cursor after `entry`: `<mark>.<revision>`. The mark is a digest of the site's epoch and of what is stored, so it is the same on every
 * engine and in every version of the program. It differs after a restore, and when the entry is another one under the same number.
 */
export function toCursor(epoch: string, { revision, at, actor, resource, id, operation, body }: Change): string {
  return markOf(JSON.stringify([epoch, revision, at, actor, resource, id, operation]) + body, revision);
}

/** The cursor at the end of a journal whose last entry was deleted, as other programs may do. */
export function bareCursor({ epoch, revision }: Head): string {
  return revision === 0 ? firstCursor : markOf(JSON.stringify([epoch, revision]), revision);
}

/**
 * Reads a cursor that a client sent.
 * @param text undefined for the first cursor
 * @throws Refusal `gone` for a cursor that is not of this program, `bad-request` for what has not even the shape of one. It is a mistake in the
 * client's program, such as a variable without a value: if it were told to start again, it would read everything again, for ever
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

/** The revision in a stored cursor; undefined when it is malformed. */
export function revisionInCursor(text: string): number | undefined {
  return readCursor(text)?.revision;
}

/**
 * Checks that the changes after a cursor are complete and of its history.
 * @param page the journal from the cursor's own entry on
 * @throws Refusal `gone`
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

/** The refusal of a cursor from which no client can follow. */
export function gone(detail: string): Refusal {
  return new Refusal("gone", `${detail}; ${startAgain}`);
}

function markOf(text: string, revision: number): string {
  return `${createHash("sha256").update(text).digest("hex").slice(0, 12)}.${revision}`;
}
