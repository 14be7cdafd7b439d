// Reads and writes a site's records. A small site's records are all loaded, and searched and sorted in the page; they're replaced when a read reports
// changes. A large site is read page by page.

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
import { textAt, toValues } from "../text/fields.ts";
import { type ListQuery, searchRecords, sortRecords } from "./local-list.ts";
import { type StagedEdits, toChanges } from "./staged-edits.ts";

export interface PageQuery extends ListQuery {
  /** From 1. */
  readonly page: number;
  readonly rows: number;
}

const maxLocal = 5000;
/** Milliseconds between checks whether the loaded records have changed. */
const refreshMs = 20_000;

const recordsPath = (siteName: string, resource: string) => sitePath(siteName, `/records/${resource}`);

const listKey = (siteName: string, resource: string) => ["records", siteName, resource] as const;

export function useRecordPage(resource: string, query: PageQuery) {
  const siteName = useSiteName();
  const queries = useQueryClient();
  const key = listKey(siteName, resource);
  const sizeKey = [...key, "size"];
  const { data: size } = useQuery<number>({
    queryKey: sizeKey,
    queryFn: async ({ signal }) => (await readList(siteName, resource, { limit: 1 }, signal)).total,
    // Reads without a search also tell the size.
    enabled: query.search !== "" && queries.getQueryData(sizeKey) === undefined,
  });
  const all = useAllRecords(queries, siteName, resource, size !== undefined && size <= maxLocal);
  const local = useLocalPage(all.data, query);
  const pageOf = (asked: PageQuery) => toPageRead(queries, siteName, resource, asked);
  const remote = useQuery<RecordsResponse>({
    ...pageOf(query),
    // Only the server can suggest similar names.
    enabled: !local || (local.total === 0 && query.search !== ""),
    // Keep showing the previous search's rows, but not another resource's.
    placeholderData: (before, from) => (from?.queryKey[2] === resource ? before : undefined),
  });
  return {
    page: local ?? remote.data,
    suggestions: remote.isPlaceholderData ? undefined : remote.data?.suggestions,
    /** The number of records, ignoring the search. Undefined until it's known. */
    size: all.data?.total ?? size,
    error: local ? null : remote.error,
    refetch: () => remote.refetch(),
    /** Preloads another page of the list. */
    prepare: (page: number) => void (local ?? queries.prefetchQuery(pageOf({ ...query, page }))),
    /** Whether the rows still belong to the previous search. */
    isStale: !local && remote.isPlaceholderData,
    /** Reads part of the list, which may be on several pages. */
    readPart: async (offset: number, limit: number) =>
      local?.found.slice(offset, offset + limit) ??
      (await readList(siteName, resource, { ...toParameters(query), offset, limit })).records,
  };
}

function toPageRead(queries: QueryClient, siteName: string, resource: string, asked: PageQuery) {
  const key = listKey(siteName, resource);
  return {
    queryKey: [...key, "page", asked],
    queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
      const response = await readList(siteName, resource, toParameters(asked), signal);
      if (asked.search === "") keepWhole(queries, key, response);
      return response;
    },
  };
}

/** Remembers the number of records, and the records too if a page without a search has all of them. */
function keepWhole(queries: QueryClient, key: readonly string[], response: RecordsResponse): void {
  queries.setQueryData([...key, "size"], response.total);
  if (response.records.length === response.total) queries.setQueryData([...key, "all"], response);
}

/** Loads all records of a small site, and regularly checks whether they have changed. */
function useAllRecords(queries: QueryClient, siteName: string, resource: string, isSmall: boolean) {
  const queryKey = [...listKey(siteName, resource), "all"];
  return useQuery<RecordsResponse>({
    queryKey,
    queryFn: async ({ signal }) => {
      const before = queries.getQueryData<RecordsResponse>(queryKey);
      const response = await readList(siteName, resource, { limit: maxLocal, known: before?.version ?? "" }, signal);
      const isGrown = response.total > maxLocal;
      if (isGrown) queries.setQueryData([...listKey(siteName, resource), "size"], response.total);
      return response.isKnown && before ? before : response;
    },
    enabled: isSmall,
    refetchInterval: refreshMs,
    staleTime: refreshMs / 2,
    // Checks again when the page is opened or the operator returns to it.
    refetchOnMount: "always",
    refetchOnWindowFocus: "always",
    refetchOnReconnect: "always",
    structuralSharing: false,
  });
}

function useLocalPage(all: RecordsResponse | undefined, { search, by, isDescending, page, rows }: PageQuery) {
  const records = all && all.total <= maxLocal ? all.records : undefined;
  const sorted = useMemo(() => records && sortRecords(records, { by, isDescending }), [records, by, isDescending]);
  const found = useMemo(() => sorted && searchRecords(sorted, search), [sorted, search]);
  return useMemo(
    () => found && { records: found.slice((page - 1) * rows, page * rows), total: found.length, found },
    [found, page, rows],
  );
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
      queries.setQueriesData<RecordsResponse | number>({ queryKey: listKey(siteName, resource) }, (list) => {
        if (typeof list !== "object") return list;
        const records = list.records.flatMap((item) => change(item) ?? []);
        return { ...list, records, total: list.total - list.records.length + records.length };
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
        const { field, value, search = "" } = body;
        const ids = body.ids && new Set(body.ids);
        const isChanged = (item: RecordResponse) =>
          ids?.has(item.record.ID) ?? searchRecords([item], search).length > 0;
        const values = toValues([[field, value]]);
        showInLists((item) => (isChanged(item) ? { ...item, record: withValues(item.record, values) } : item));
      },
      /** Previews `setField`. */
      trySetField: (body: SetFieldBody, signal: AbortSignal) =>
        callApi<SetFieldResponse>("POST", `${path}/set-field`, { ...body, dryRun: true }, { signal, isRead: true }),
    };
  }, [siteName, resource, queries]);
}

const nameIn = (record: RecordResponse["record"]) => textAt(record, "Name");

/** Whether the list is being reloaded after a write that doesn't tell the records' versions. Editing them could cause a conflict with that write. */
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
