// A case: a promise of the contract, as requests to a server and checks of the responses.

import type { Shop } from "./shop.ts";

export interface Case {
  readonly section: number;
  /** The beginning of the promise in the contract. */
  readonly promise: string;
  /** What must be. */
  readonly title: string;
  /** Whether the case runs in each format. Otherwise it runs once, in JSON. */
  readonly isPerFormat: boolean;
  readonly run: (shop: Shop) => Promise<void>;
}

type Define = (promise: string, title: string, run: Case["run"]) => Case;

/** Returns functions that make the cases of a section: `both` runs in each format, `once` in JSON only. */
export function casesOf(section: number): { readonly both: Define; readonly once: Define } {
  const define =
    (isPerFormat: boolean): Define =>
    (promise, title, run) => ({ section, promise, title, isPerFormat, run });
  return { both: define(true), once: define(false) };
}
