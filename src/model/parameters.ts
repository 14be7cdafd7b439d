// The query parameters of each kind of request (contract sections 2, 6, 10 and 14). A request with any other parameter is rejected.

import { normalizeName } from "../lib/text.ts";

export const parametersOf = {
  list: ["limit", "offset", "sort", "filter", "fields"],
  "look-up": [],
  create: ["dryRun"],
  update: ["ID", "dryRun"],
  delete: ["ID", "dryRun"],
  batch: ["match", "dryRun", "atomic"],
  undo: ["dryRun"],
  feed: ["since", "limit", "wait", "resource", "collapse"],
} as const satisfies Record<string, readonly string[]>;

export type RequestKind = keyof typeof parametersOf;

export const parameterNames: ReadonlySet<string> = new Set(Object.values(parametersOf).flat());

/** The form of the parameter `filter`: `filter[Name]` or `filter[Name][contains]`, with any text in the brackets. */
export const filterName = /^filter\[([^\]]*)\](?:\[([^\]]*)\])?$/;

/** What to do instead of `_method`, in a query or in a record, and of the header fields by which other interfaces override the method. */
export const methodAdvice = "to send PUT, PATCH or DELETE as a POST, name it in the header `X-HTTP-Method-Override`";

/** The form of a name that `--ignore-parameters` accepts. */
export const ignorableName = /^(?=.*\w)[\w$.:[\]-]{1,64}$/;

/** The names in `parameterNames` and `_method`, as `normalizeName` returns them. */
const meaningful: ReadonlySet<string> = new Set([...parameterNames, "_method"].map(normalizeName));

/** Whether ignoring a parameter could make a write take effect, or a list return other records: it's one of ours, perhaps in another case or form. */
export function isMeaningful(name: string): boolean {
  const letters = normalizeName(name);
  return meaningful.has(letters) || letters.startsWith("filter");
}
