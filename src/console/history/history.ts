// The history of a site, as the API has it.

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { callApi } from "../api.ts";
import { useSite } from "../site-context.ts";

export type RecordValues = { readonly [name: string]: string | number | RecordValues };

export interface HistoryItem {
  readonly run: string | null;
  readonly actor: string;
  readonly at: string;
  readonly first: number;
  readonly last: number;
  readonly counts: Partial<Record<"create" | "update" | "delete", number>>;
  /** Paths of the resources. */
  readonly resources: readonly string[];
  /** The last change. */
  readonly change: {
    readonly operation: "create" | "update" | "delete";
    readonly resource: string;
    readonly id: number;
    readonly before: RecordValues | null;
    readonly after: RecordValues | null;
  };
}

interface HistoryPage {
  readonly entries: readonly HistoryItem[];
  readonly next: number | null;
}

export interface HistoryFilter {
  readonly resource?: string;
  readonly id?: number;
  readonly actor?: string;
  readonly run?: string;
  /** Each change by itself, rather than those of a run as one. */
  readonly single?: boolean;
}

export interface UndoResult {
  readonly deleted: number;
  readonly restored: number;
  readonly unchanged: number;
  readonly left: readonly {
    readonly resource: string;
    readonly id: number;
    readonly changed?: { readonly revision: number; readonly actor: string };
  }[];
}

export function useHistory(filter: HistoryFilter) {
  const site = useSite();
  const query = useInfiniteQuery({
    queryKey: ["history", site, filter],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam }) =>
      callApi<HistoryPage>("GET", `/sites/${encodeURIComponent(site)}/history?${toQuery(filter, pageParam)}`),
    getNextPageParam: ({ next }) => next,
  });
  return { ...query, items: joined(query.data?.pages ?? []) };
}

/** Takes changes back, or says what that would do. Everything that is shown is read again afterwards. */
export function useUndo() {
  const site = useSite();
  const queries = useQueryClient();
  return async (
    { first, last, run }: Pick<HistoryItem, "first" | "last" | "run">,
    dryRun: boolean,
  ): Promise<UndoResult> => {
    const range = { since: first - 1, until: last, ...(run === null ? {} : { run }) };
    const result = await callApi<UndoResult>("POST", `/sites/${encodeURIComponent(site)}/undo`, { ...range, dryRun });
    if (!dryRun) await queries.invalidateQueries();
    return result;
  };
}

/** Puts a record back as it was at a revision. */
export function useRestore() {
  const site = useSite();
  const queries = useQueryClient();
  return async (resource: string, id: number, revision: number) => {
    await callApi("POST", `/sites/${encodeURIComponent(site)}/records/${resource}/${id}/restore`, { revision });
    await queries.invalidateQueries();
  };
}

function toQuery({ single, ...filter }: HistoryFilter, before: number | null): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, String(value));
  if (single) query.set("single", "1");
  if (before !== null) query.set("before", String(before));
  return query;
}

/** The entries of all pages. A run that was cut by the end of a page is one again. */
function joined(pages: readonly HistoryPage[]): HistoryItem[] {
  const items: HistoryItem[] = [];
  for (const item of pages.flatMap(({ entries }) => entries)) {
    const last = items.at(-1);
    if (last && last.run !== null && last.run === item.run && last.first > item.last)
      items[items.length - 1] = merged(last, item);
    else items.push(item);
  }
  return items;
}

function merged(later: HistoryItem, earlier: HistoryItem): HistoryItem {
  const counts = { ...later.counts };
  for (const [operation, count] of Object.entries(earlier.counts)) {
    const name = operation as keyof typeof counts;
    counts[name] = (counts[name] ?? 0) + count;
  }
  return {
    ...later,
    first: earlier.first,
    counts,
    resources: [...new Set([...later.resources, ...earlier.resources])],
  };
}

/** The fields that differ, by their dotted paths. */
export function differences(
  before: RecordValues | null,
  after: RecordValues | null,
): readonly { path: string; before: string; after: string }[] {
  const [old, now] = [flat(before ?? {}), flat(after ?? {})];
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((path) => path !== "ID" && (old.get(path) ?? "") !== (now.get(path) ?? ""))
    .map((path) => ({ path, before: old.get(path) ?? "", after: now.get(path) ?? "" }));
}

function flat(values: RecordValues, above = ""): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "object") for (const [path, text] of flat(value, `${above}${name}.`)) texts.set(path, text);
    else texts.set(above + name, String(value));
  }
  return texts;
}
