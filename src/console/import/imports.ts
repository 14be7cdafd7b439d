// Calls the API of imports and exports.

import { callApi, sendBytes } from "../api.ts";
import type { RecordValues } from "../history/history.ts";

export const importKinds = ["created", "updated", "unchanged", "refused"] as const;
export type ImportKind = (typeof importKinds)[number];

/** An import, with its state and progress. */
export interface ImportState {
  readonly id: string;
  /** Name of the file. */
  readonly name: string;
  /** The path of the resource. */
  readonly resource: string;
  readonly state: "new" | "checking" | "checked" | "running" | "done" | "failed";
  readonly size: number;
  /** Number of bytes of the file that were read so far. */
  readonly read: number;
  readonly rows: number;
  readonly counts: Readonly<Record<ImportKind, number>> | null;
  readonly skipped: number;
  readonly isInterrupted: boolean;
  readonly error: { readonly detail: string; readonly faults: readonly RowFault[] } | null;
  readonly revisions: { readonly first: number; readonly last: number } | null;
  readonly run: string | null;
  /** The result of an undo: the number of restored records, and of records that it skipped because others have changed them later. */
  readonly undone: { readonly restored: number; readonly left: number } | null;
  readonly hasRejects: boolean;
}

interface RowFault {
  readonly field: string;
  readonly detail: string;
}

/** A row in the report of a dry run or import. */
export interface ImportRow {
  readonly row: number;
  readonly kind: ImportKind;
  readonly id: number | null;
  readonly before: RecordValues | null;
  readonly after: RecordValues | null;
  readonly faults: readonly RowFault[];
}

/** The preview of a file: its detected format, and the columns of a CSV file. */
export interface FileLook {
  readonly format: "csv" | "json" | "xml";
  readonly encoding?: string;
  readonly delimiter?: string;
  readonly columns?: readonly { readonly name: string; readonly field?: string; readonly samples: readonly string[] }[];
}

/** A mapping in the form of a file for `import --map`. */
export interface Mapping {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly skip?: unknown;
}

/** The options of a dry run, which the import then uses too. */
export interface CheckOptions {
  readonly format: FileLook["format"];
  readonly encoding?: string | undefined;
  readonly delimiter?: string | undefined;
  readonly mapping?: Mapping | undefined;
  readonly match?: string | undefined;
}

/** The rows that an import excludes: by number, and by kind. */
interface LeftOut {
  readonly without: readonly number[];
  readonly withoutKinds: readonly ImportKind[];
}

/** Size of a part in bytes. The server accepts bodies of up to 1 MiB. */
const partSize = 1024 * 1024;

function pathOf(site: string, id = ""): string {
  return `/sites/${encodeURIComponent(site)}/imports${id && `/${id}`}`;
}

/**
 * Opens an import and sends its file. If that fails, removes the import.
 * @param onProgress called with the share of the file that has arrived, 0 to 1
 * @param signal stops the upload
 * @returns the ID of the import
 */
export async function upload(
  site: string,
  resource: string,
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const { id } = await callApi<ImportState>("POST", pathOf(site), { resource, name: file.name });
  try {
    for (let part = 0; part * partSize < file.size; part++) {
      signal.throwIfAborted();
      const bytes = await file.slice(part * partSize, (part + 1) * partSize).arrayBuffer();
      await sendBytes("PUT", `${pathOf(site, id)}/parts/${part}`, bytes);
      onProgress(Math.min(1, ((part + 1) * partSize) / file.size));
    }
    signal.throwIfAborted();
    return id;
  } catch (error) {
    await discardImport(site, id).catch(() => {});
    throw error;
  }
}

/** Reads a preview of the file. @param dialect an encoding or delimiter to use instead of the detected one */
export function lookAtFile(site: string, id: string, dialect: Partial<FileLook> = {}): Promise<FileLook> {
  return callApi("POST", `${pathOf(site, id)}/look`, dialect);
}

/** Starts a dry run. */
export function checkImport(site: string, id: string, options: CheckOptions): Promise<ImportState> {
  return callApi("POST", `${pathOf(site, id)}/check`, options);
}

/** Starts the import, after its dry run. */
export function runImport(site: string, id: string, leftOut: LeftOut): Promise<ImportState> {
  return callApi("POST", `${pathOf(site, id)}/run`, leftOut);
}

/** Stops a dry run or import. Rows that are already stored are kept. */
export function stopImport(site: string, id: string): Promise<ImportState> {
  return callApi("POST", `${pathOf(site, id)}/stop`, {});
}

/** Stops an import and removes its file. Rows that are already stored are kept. */
export function discardImport(site: string, id: string): Promise<void> {
  return callApi("DELETE", pathOf(site, id));
}

export function readImport(site: string, id: string): Promise<ImportState> {
  return callApi("GET", pathOf(site, id));
}

/** Reads the open imports of the operator into the site, the latest first. */
export async function readImports(site: string): Promise<readonly ImportState[]> {
  return (await callApi<{ readonly imports: readonly ImportState[] }>("GET", pathOf(site))).imports;
}

/** Reads a page of the report: rows of one kind. */
export function readImportRows(
  site: string,
  id: string,
  { kind, offset, limit }: { readonly kind: ImportKind; readonly offset: number; readonly limit: number },
): Promise<{ readonly rows: readonly ImportRow[]; readonly total: number }> {
  return callApi("GET", `${pathOf(site, id)}/rows?kind=${kind}&offset=${offset}&limit=${limit}`);
}

/** Returns the URL of a file with the rejected rows. */
export function refusedUrl(site: string, id: string): string {
  return `/operator${pathOf(site, id)}/refused`;
}

/** Returns the URL of a file with all records of a resource. */
export function exportUrl(site: string, resource: string, format: string): string {
  return `/operator/sites/${encodeURIComponent(site)}/records/${resource}/export?format=${format}`;
}
