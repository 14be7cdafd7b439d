// The query parameters of each kind of request (contract sections 2, 6, 10 and 14). Any other is rejected.

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
  key: [],
  webhooks: [],
} as const satisfies Record<string, readonly string[]>;

export type RequestKind = keyof typeof parametersOf;

export const parameterNames: ReadonlySet<string> = new Set(Object.values(parametersOf).flat());

/** `filter[Name]` or `filter[Name][contains]`, with any text in the brackets. */
export const filterName = /^filter\[([^\]]*)\](?:\[([^\]]*)\])?$/;

/** What to do instead of sending `_method`, in a query or a record, or one of the headers other interfaces use to override the method. */
export const methodAdvice = "to send PUT, PATCH or DELETE as a POST, name it in the header `X-HTTP-Method-Override`";

/** Names that `--ignore-parameters` accepts. */
export const ignorableName = /^(?=.*\w)[\w$.:[\]-]{1,64}$/;

/** Normalized by `normalizeName`. */
const meaningful: ReadonlySet<string> = new Set([...parameterNames, "_method"].map(normalizeName));

/**
 * Whether ignoring this parameter could let a write through or make a list return other records: it's one of ours, perhaps in a different case or
 * form.
 */
export function isMeaningful(name: string): boolean {
  const letters = normalizeName(name);
  return meaningful.has(letters) || letters.startsWith("filter");
}
