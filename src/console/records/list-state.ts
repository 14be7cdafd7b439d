// A list's search, order, page and columns. They're in the address, so that the back button works and lists can be shared. The browser also remembers
// the columns, the number of rows and the saved views, per operator and site.

import { useMemo } from "react";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { useAddress } from "../shell/router.tsx";
import { useDeclared } from "../shell/site-context.ts";
import { useStored } from "../shell/stored.ts";
import { groupOf } from "../text/fields.ts";
import type { PageQuery } from "./record-data.ts";

export const rowChoices = [10, 25, 50, 100];
const defaultRows = 25;
const maxPage = 1_000_000;

/** The state in an address. Absent members have their defaults. */
interface Shown {
  readonly search?: string | undefined;
  /** A field or `ID`, prefixed with `-` if descending. */
  readonly sort?: string | undefined;
  readonly page?: number | undefined;
  readonly rows?: number | undefined;
  readonly columns?: readonly string[] | undefined;
}

interface SavedView {
  readonly name: string;
  /** The address's query. */
  readonly address: string;
}

export type ListState = ReturnType<typeof useListState>;

export function useListState(resource: ResourceInfo) {
  const { maxSearchLength } = useDeclared();
  const [parameters, changeAddress] = useAddress();
  const shown = useMemo(
    () => parseShown(parameters, resource, maxSearchLength),
    [parameters, resource, maxSearchLength],
  );
  /** @param isReplaced whether the back button skips the previous state */
  const change = (changed: Shown, isReplaced = false) =>
    changeAddress(toParameters(changed), isReplaced ? "replace" : "push");
  const [keptColumns, keepColumns] = useStored<readonly string[]>(`${resource.path}.columns`, []);
  const [keptRows, keepRows] = useStored(`${resource.path}.rows`, defaultRows);
  const paths = useMemo(() => resource.fields.map(({ path }) => path), [resource]);
  const chosen = (shown.columns ?? keptColumns).join();
  const columns = useMemo(() => {
    const known = paths.filter((path) => chosen.split(",").includes(path));
    return known.length > 0 ? known : defaultColumns(paths);
  }, [chosen, paths]);
  const { search = "", sort = "Name", page = 1 } = shown;
  const by = sort.replace(/^-/, "");
  const isDescending = sort.startsWith("-");
  const rows = shown.rows ?? (rowChoices.includes(keptRows) ? keptRows : defaultRows);
  const query: PageQuery = useMemo(
    () => ({ search, by, isDescending, page, rows }),
    [search, by, isDescending, page, rows],
  );
  return {
    query,
    columns,
    /** The address's query, for links to records next to the list, and for views. */
    address: parameters.size > 0 ? `?${parameters}` : "",
    setSearch: (text: string) => change({ search: text, page: 1 }, true),
    sortBy: (field: string, descending: boolean) => change({ sort: `${descending ? "-" : ""}${field}`, page: 1 }),
    showPage: (number: number, isReplaced = false) => change({ page: number }, isReplaced),
    showRows(count: number) {
      keepRows(count);
      change({ rows: count, page: 1 });
    },
    showColumns(paths: readonly string[]) {
      keepColumns(paths);
      change({ columns: paths }, true);
    },
    show: (address: string) => change(parseShown(new URLSearchParams(address), resource, maxSearchLength)),
  };
}

/** Returns the number of pages in a list, at least one. */
export function countPages(total: number, rows: number): number {
  return Math.max(1, Math.ceil(total / rows));
}

export function useViews(resource: ResourceInfo) {
  const [views, setViews] = useStored<readonly SavedView[]>(`${resource.path}.views`, [], isViews);
  const others = (name: string) => views.filter((view) => view.name !== name);
  return {
    views,
    save: (view: SavedView) =>
      setViews([...others(view.name), view].sort((a, b) => a.name.localeCompare(b.name)).slice(0, maxViews)),
    remove: (name: string) => setViews(others(name)),
  };
}

const maxViews = 50;

function isViews(value: unknown): boolean {
  const isView = (view: unknown) => typeof Object(view).name === "string" && typeof Object(view).address === "string";
  return Array.isArray(value) && value.every(isView);
}

function parseShown(parameters: URLSearchParams, { fields }: ResourceInfo, maxSearchLength: number): Shown {
  const isField = (name: string) => name === "ID" || fields.some(({ path }) => path === name);
  const sort = parameters.get("sort") ?? undefined;
  const page = Number(parameters.get("page"));
  const rows = Number(parameters.get("rows"));
  return {
    search: parameters.get("search")?.slice(0, maxSearchLength),
    sort: sort && isField(sort.replace(/^-/, "")) ? sort : undefined,
    page: Number.isInteger(page) && page > 0 && page <= maxPage ? page : undefined,
    rows: rowChoices.includes(rows) ? rows : undefined,
    columns: parameters.get("columns")?.split(","),
  };
}

/** Returns the parameters of the address. Those with default values are removed. */
function toParameters(shown: Shown): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]) => [
      name,
      name === "page" && value === 1 ? undefined : String(value ?? ""),
    ]),
  );
}

/** Returns the columns shown by default: the first four fields outside of groups, town and country. */
function defaultColumns(paths: readonly string[]): string[] {
  const own = paths.filter((path) => groupOf(path) === "");
  return [...own.slice(0, 4), ...paths.filter((path) => /\.(Town|Country)$/.test(path))];
}
