// Reads a site's history, and restores records.

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type {
  HistoryEntryInfo,
  HistoryPartResponse,
  HistoryResponse,
  RecordResponse,
  RestoreBody,
  WriteResponse,
} from "../../admin/api/record-types.ts";
import { callApi, HttpError, sitePath } from "../api/call-api.ts";
import { notify, reportWrite, type UndoableEntry } from "../shell/notices.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { saveFile, useRead, useSitePath } from "../shell/site-data.ts";
import { translate } from "../text/translate.ts";

export interface HistoryFilter {
  readonly resource?: string;
  readonly id?: number;
  readonly kind?: string;
  /** An actor, or an operator's name. */
  readonly actor?: string;
  /** Only changes from this time until before the other, in ISO 8601. */
  readonly from?: string;
  readonly to?: string;
  /** Lists this entry's changes one by one. */
  readonly within?: UndoableEntry;
}

/** Entries per page. The server reads at most 10,000 changes for a page. If it has fewer entries than this, the last one may be incomplete. */
const pageSize = 50;
/** Maximum pages to read automatically to complete an entry, or to find the first one. */
const maxPages = 100;

/**
 * Reads the history, page by page. While the last entry is incomplete (`isCut`), reads on automatically. @param max the number of entries that the
 * caller shows
 */
export function useHistory(filter: HistoryFilter, max = Number.POSITIVE_INFINITY) {
  const siteName = useSiteName();
  const query = useInfiniteQuery({
    queryKey: ["history", siteName, filter],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam }) =>
      callApi<HistoryResponse>("GET", sitePath(siteName, `/history?${toQuery(filter, pageParam)}`)),
    getNextPageParam: ({ next }) => (next !== null && next > (filter.within?.first ?? 0) ? next : undefined),
  });
  const { data, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query;
  const pages = data?.pages ?? [];
  const entries = filter.within ? pages.flatMap((page) => page.entries) : joinPages(pages);
  const [limit, setLimit] = useState(maxPages);
  const isCut = hasNextPage && (pages.at(-1)?.entries.length ?? 0) < pageSize;
  const isSearching = isCut && entries.length <= max && pages.length < limit && !isFetchNextPageError;
  useEffect(() => {
    // Parts of a page may show the same history. They share a request: otherwise each would cancel the other's and send it again.
    if (isSearching && !isFetching) void fetchNextPage({ cancelRefetch: false });
  }, [isSearching, isFetching, fetchNextPage]);
  const more = () => {
    setLimit(pages.length + maxPages);
    void fetchNextPage();
  };
  return { ...query, entries, isCut, isSearching, more };
}

/** Returns a function that restores a record to a revision, and offers to undo that. */
export function useRestore() {
  const siteName = useSiteName();
  const queries = useQueryClient();
  return async (resource: string, id: number, revision: number) => {
    const body: RestoreBody = { revision };
    const path = sitePath(siteName, `/records/${resource}/${id}/restore`);
    const write = await callApi<WriteResponse>("POST", path, body);
    reportWrite({ ...write, kind: "saved", count: 1 }, write.revisions && translate("history.restored"));
    void queries.invalidateQueries();
  };
}

/** Reads a record's current state; null if it doesn't exist. */
export function useCurrentRecord(resource: string, id: number) {
  const { data, error, refetch } = useRead<RecordResponse>(useSitePath(`/records/${resource}/${id}`));
  const isMissing = error instanceof HttpError && error.status === 404;
  return { current: isMissing ? null : data?.record, error: isMissing ? null : error, refetch };
}

/**
 * Returns a function that saves the filtered changes as a CSV file, and the number of changes read so far, or undefined if it isn't running. The file
 * is read in parts, which wait while the server can't be reached.
 */
export function useHistoryFile(filter: Omit<HistoryFilter, "within">) {
  const siteName = useSiteName();
  const [changes, setChanges] = useState<number>();
  async function save(): Promise<void> {
    // A byte order mark, so that Excel reads the file as UTF-8. Browsers can keep blobs out of memory.
    const parts: Blob[] = [new Blob(["\ufeff"])];
    const query = toParameters(filter);
    let [after, count]: [number | null, number] = [null, 0];
    setChanges(0);
    try {
      do {
        if (after !== null) query.set("after", String(after));
        const part = await callApi<HistoryPartResponse>("GET", sitePath(siteName, `/history/export?${query}`));
        parts.push(new Blob([part.text]));
        after = part.next;
        count += part.changes;
        setChanges(count);
      } while (after !== null);
      saveFile(new Blob(parts, { type: "text/csv;charset=utf-8" }), `${siteName}-history.csv`);
    } catch (error) {
      notify((error as Error).message, "error");
    }
    setChanges(undefined);
  }
  return { save, changes };
}

function toParameters(filter: Omit<HistoryFilter, "within">): URLSearchParams {
  return new URLSearchParams(Object.entries(filter).map(([name, value]) => [name, String(value)]));
}

function toQuery({ within, ...filter }: HistoryFilter, before: number | null): URLSearchParams {
  const query = toParameters(filter);
  query.set("limit", String(pageSize));
  if (within) {
    query.set("single", "1");
    query.set("run", within.run ?? "");
    query.set("before", String(within.last + 1));
  }
  if (before !== null) query.set("before", String(before));
  return query;
}

/** Returns the entries of all pages. Rejoins runs that were cut by the end of a page. */
export function joinPages(pages: readonly Pick<HistoryResponse, "entries">[]): HistoryEntryInfo[] {
  const entries: HistoryEntryInfo[] = [];
  for (const entry of pages.flatMap((page) => page.entries)) {
    const last = entries.at(-1);
    if (last && last.run !== null && last.run === entry.run && last.first > entry.last)
      entries[entries.length - 1] = mergeEntries(last, entry);
    else entries.push(entry);
  }
  return entries;
}

function mergeEntries(later: HistoryEntryInfo, earlier: HistoryEntryInfo): HistoryEntryInfo {
  const counts = { ...later.counts };
  for (const [operation, count] of Object.entries(earlier.counts)) {
    const name = operation as keyof typeof counts;
    counts[name] = (counts[name] ?? 0) + count;
  }
  return {
    ...later,
    first: earlier.first,
    counts,
    others: later.others + earlier.others,
    resources: [...new Set([...later.resources, ...earlier.resources])],
  };
}
