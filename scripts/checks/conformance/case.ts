// A case tests one of the contract's promises: it sends requests to a server and checks the responses.

import type { Shop } from "./shop.ts";

export interface Case {
  readonly section: number;
  /** The promise's first words in the contract. */
  readonly promise: string;
  /** What the server should do, as a sentence. */
  readonly title: string;
  /** Whether the case runs in both formats, or once in JSON. */
  readonly isPerFormat: boolean;
  readonly run: (shop: Shop) => Promise<void>;
}

type Define = (promise: string, title: string, run: Case["run"]) => Case;

/** Returns functions that define a section's cases: `both` runs in JSON and XML, `once` in JSON only. */
export function casesOf(section: number): { readonly both: Define; readonly once: Define } {
  const define =
    (isPerFormat: boolean): Define =>
    (promise, title, run) => ({ section, promise, title, isPerFormat, run });
  return { both: define(true), once: define(false) };
}
