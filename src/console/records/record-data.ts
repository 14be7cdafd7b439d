// Reads a site's records page by page, and writes them.

import { type Query, type QueryClient, useIsFetching, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type {
  ChangesBody,
  ChangesResponse,
  DeletionBody,
  DeletionResponse,
  RecordResponse,
  RecordsResponse,
  RecordValues,
  SetFieldBody,
  SetFieldResponse,
  WriteResponse,
  WrittenRecordResponse,
} from "../../admin/api/record-types.ts";
import { callApi, sitePath, type UndoableWrite } from "../api/call-api.ts";
import { reportWrite } from "../shell/notices.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { useRead, useSitePath } from "../shell/site-data.ts";
import { textAt } from "../text/fields.ts";
import { type StagedEdits, toChanges } from "./staged-edits.ts";

export interface PageQuery {
  readonly search: string;
  /** A field, or `ID`. */
  readonly by: string;
  readonly isDescending: boolean;
  /** From 1. */
  readonly page: number;
  readonly rows: number;
}

/** Milliseconds between reads of the page, which show what others have changed. */
const refreshMs = 20_000;

const recordsPath = (siteName: string, resource: string) => sitePath(siteName, `/records/${resource}`);

const listKey = (siteName: string, resource: string) => ["records", siteName, resource] as const;

export function useRecordPage(resource: string, query: PageQuery) {
  const siteName = useSiteName();
  const key = listKey(siteName, resource);
  const { data, error, refetch, isPlaceholderData } = useQuery<RecordsResponse>({
    queryKey: [...key, "page", query],
    queryFn: ({ signal }) => readList(siteName, resource, toParameters(query), signal),
    // Keep showing the previous page or search, but not another resource's.
    placeholderData: (before, from) => (from?.queryKey[2] === resource ? before : undefined),
    refetchInterval: refreshMs,
  });
  return {
    page: data,
    error,
    refetch,
    /** Whether the rows still belong to another page or search. */
    isStale: isPlaceholderData,
    /** Reads part of the list, which may be on several pages. */
    readPart: async (offset: number, limit: number) =>
      (await readList(siteName, resource, { ...toParameters(query), offset, limit })).records,
  };
}

function toParameters({ search, by, isDescending, page, rows }: PageQuery) {
  const order = isDescending ? "desc" : "asc";
  return { limit: rows, offset: (page - 1) * rows, sort: by, order, ...(search === "" ? {} : { search }) };
}

function readList(
  siteName: string,
  resource: string,
  parameters: Readonly<Record<string, string | number>>,
  signal?: AbortSignal,
): Promise<RecordsResponse> {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
  return callApi("GET", `${recordsPath(siteName, resource)}?${query}`, undefined, { signal });
}

/** Returns a function that reads the IDs of up to `limit` records that match a search. */
export function useReadIds(resource: string): (search: string, limit: number) => Promise<number[]> {
  const siteName = useSiteName();
  return async (search, limit) =>
    (await readList(siteName, resource, { limit, search })).records.map(({ record }) => record.ID);
}

export function useRecord(resource: string, id: string) {
  return useRead<RecordResponse>(useSitePath(`/records/${resource}/${id}`));
}

/** Returns the functions that write records. They resolve at the response; the page then reloads its data, and offers to undo the write. */
export function useRecordWrites(resource: string) {
  const siteName = useSiteName();
  const queries = useQueryClient();
  return useMemo(() => {
    const path = recordsPath(siteName, resource);
    /** Until the lists have been reloaded, they show what `change` returns for each record, and leave it out if that's undefined. */
    function showInLists(change: (item: RecordResponse) => RecordResponse | undefined) {
      queries.setQueriesData<RecordsResponse>({ queryKey: listKey(siteName, resource) }, (list) => {
        if (!list) return list;
        const records = list.records.flatMap((item) => change(item) ?? []);
        const gone = list.records.length - records.length;
        return { ...list, records, total: list.total - gone, size: list.size - gone };
      });
    }
    return {
      create: (values: RecordValues) =>
        finish(queries, "created", callApi<WrittenRecordResponse>("POST", path, values), ({ record }) => ({
          count: 1,
          name: nameIn(record),
        })),
      /** @param name the record's, if it's only one */
      async remove(ids: readonly number[], name?: string) {
        const body: DeletionBody = { ids };
        const sent = callApi<DeletionResponse>("DELETE", path, body);
        await finish(queries, "deleted", sent, ({ deleted }) => ({ count: deleted, name }));
        const gone = new Set(ids);
        showInLists((item) => (gone.has(item.record.ID) ? undefined : item));
      },
      async saveStaged(staged: StagedEdits) {
        const { changes } = toChanges(staged);
        const sent = callApi<ChangesResponse>("POST", `${path}/changes`, { changes } satisfies ChangesBody);
        const [first] = staged.records.values();
        const name = staged.records.size === 1 && first ? (first.texts.get("Name") ?? nameIn(first.base.record)) : "";
        const { versions } = await finish(queries, "saved", sent, ({ changed }) => ({ count: changed, name }), true);
        const saved = new Map(changes.map(({ id, values }, index) => [id, { values, version: versions[index] }]));
        showInLists((item) => {
          const { values = {}, version = item.version } = saved.get(item.record.ID) ?? {};
          return { record: withValues(item.record, values), version };
        });
      },
      async setField(body: SetFieldBody) {
        const sent = callApi<SetFieldResponse>("POST", `${path}/set-field`, body);
        await finish(queries, "saved", sent, ({ changed, names }) => ({ count: changed, name: names[0] }));
      },
      /** Previews `setField`. */
      trySetField: (body: SetFieldBody, signal: AbortSignal) =>
        callApi<SetFieldResponse>("POST", `${path}/set-field`, { ...body, dryRun: true }, { signal, isRead: true }),
    };
  }, [siteName, resource, queries]);
}

const nameIn = (record: RecordResponse["record"]) => textAt(record, "Name");

/** Whether the list is being reloaded after a write that doesn't return the records' versions. Editing them could cause a conflict with that write. */
export function useIsOutdated(resource: string): boolean {
  const queryKey = listKey(useSiteName(), resource);
  return useIsFetching({ queryKey, predicate: ({ state }) => state.isInvalidated }) > 0;
}

/**
 * Waits for the response to a write, reports which record or how many it changed, and reloads the page's data.
 * @param isExact whether the caller shows the written records in the lists with their new versions
 */
async function finish<T extends WriteResponse>(
  queries: QueryClient,
  kind: UndoableWrite["kind"],
  sent: Promise<T>,
  changedBy: (result: T) => Pick<UndoableWrite, "count" | "name">,
  isExact = false,
): Promise<T> {
  const isOfList = ({ queryKey: [first] }: Pick<Query, "queryKey">) => first === "records";
  const isOfRecord = ({ queryKey: [, , part] }: Pick<Query, "queryKey">) => part === "records";
  const result = await sent.catch((error) => {
    // Someone else may have changed records in the list, or the one in the form.
    void queries.refetchQueries({ type: "active", predicate: (query) => isOfList(query) || isOfRecord(query) });
    throw error;
  });
  const { run, revisions } = result;
  reportWrite({ kind, ...changedBy(result), run, ...(revisions ? { revisions } : {}) });
  // Of an open dialog, perhaps: a preview of this write, or records that are deleted now.
  const isOver = (query: Pick<Query, "queryKey">) =>
    query.queryKey[0] === "set-field" || (kind === "deleted" && isOfRecord(query));
  // Only once a form has closed, so that it's read again when it's opened again.
  setTimeout(() => {
    queries.removeQueries({ type: "inactive", predicate: isOfRecord });
    void queries.invalidateQueries({ predicate: (query) => !isOver(query) && !(isExact && isOfList(query)) });
    if (isExact) void queries.refetchQueries({ type: "active", predicate: isOfList });
  });
  return result;
}

/** Returns a record with some other values. */
function withValues<T extends object>(record: T, values: RecordValues): T {
  const changed = Object.entries(values).map(([name, value]) => {
    const before = (record as RecordValues)[name];
    return [name, typeof value === "object" ? withValues(Object(before), value) : value];
  });
  return { ...record, ...Object.fromEntries(changed) };
}
