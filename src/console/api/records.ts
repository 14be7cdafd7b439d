// The requests that change records, and how their results can be undone.

import type { HistoryEntryInfo, UndoBody, UndoResponse, WriteResponse } from "../../admin/api/record-types.ts";
import { callApi, sitePath } from "./call-api.ts";

/** The result of a write, from which it can be undone. */
export interface UndoableWrite extends WriteResponse {
  readonly kind: "saved" | "created" | "deleted";
  /** Number of records. */
  readonly count: number;
}

/** Undoes the changes of an entry of the history, or with `dryRun` reports what that would do. @throws HttpError */
export function undoChanges(
  siteName: string,
  { first, last, run }: Pick<HistoryEntryInfo, "first" | "last" | "run">,
  dryRun: boolean,
): Promise<UndoResponse> {
  const body: UndoBody = { since: first - 1, until: last, ...(run === null ? {} : { run }), dryRun };
  return callApi("POST", sitePath(siteName, "/undo"), body);
}
