// What is served at fixed paths: the pages, their scripts, and the documents.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Resource } from "../model/resource.ts";
import { describingDocuments } from "./documents.ts";
import { renderPages } from "./pages/render.ts";
import { referencePage, referencePolicy, referenceScript, scalar } from "./pages/scalar.ts";
import { htmlType, pagePolicy, pageScript } from "./pages/shell.ts";

export interface ServedFile {
  /** `Content-Type`. */
  readonly type: string;
  /** Called on the first request. The content stays the same as long as the program runs. */
  readonly make: () => MaybePromise<Uint8Array | string>;
  /** `Content-Security-Policy`. */
  readonly policy?: string;
  /** Whether the path names the version, so that caches never have to ask again. */
  readonly isVersioned?: boolean;
}

const javascript = "text/javascript; charset=utf-8";

/** The files by path. The start page is not among them, because it depends on the request. */
export function servedFiles(resources: readonly Resource[]): Map<string, ServedFile> {
  return new Map<string, ServedFile>([
    ["/docs", { type: htmlType, make: () => referencePage, policy: referencePolicy }],
    ["/docs/assets/page.js", { type: javascript, make: () => pageScript }],
    ["/docs/assets/reference.js", { type: javascript, make: () => referenceScript }],
    [scalar.path, { type: javascript, make: () => Bun.file(scalar.file).bytes(), isVersioned: true }],
    ...[...renderPages()].map(([path, make]): [string, ServedFile] => [
      path,
      { type: htmlType, make, policy: pagePolicy },
    ]),
    ...describingDocuments(resources),
  ]);
}
