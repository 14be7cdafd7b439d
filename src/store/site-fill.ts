// How every engine fills a site that is imported: in portions, so that others can write in between. Until the last one, its row of
// `sites` has a special epoch, with which it takes no other writes, and `dropSite` can remove what is stored of it.

import { randomText } from "../lib/base62.ts";
import type { Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { removedEpoch } from "./removed-sites.ts";

/** Epochs of other sites have no blanks. */
const fillingMark = "filling ";

/** An epoch for a site that is being filled. Another process cannot continue with it. */
export function newFillingEpoch(): string {
  return fillingMark + randomText(8);
}

export function isFillingEpoch(epoch: string): boolean {
  return epoch.startsWith(fillingMark);
}

/** Whether a site with this epoch has a history: it was not removed, and is not being filled. */
export function hasHistory(epoch: string): boolean {
  return epoch !== removedEpoch && !isFillingEpoch(epoch);
}

/** Whether a site may be filled. @param row of `sites`; undefined if an older program created the site, which then has none */
export function mayFill(row: Head | undefined): boolean {
  return row === undefined || (row.revision === 0 && hasHistory(row.epoch));
}

/** The refusal to fill a site whose row is not the one that this process made. */
export function notFilling(): Refusal {
  return new Refusal(
    "conflict",
    "the site was written to or removed while it was filled, or the database was restored",
  );
}

/** The refusal of a row that its table does not accept. */
export function unfitRow(cause: unknown): Refusal {
  return new Refusal("bad-request", "a row is there twice, or has a value that cannot be stored", { cause });
}
