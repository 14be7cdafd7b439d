// Calls the API of imports and exports.

import type {
  CheckBody,
  DialectBody,
  FilePreviewResponse,
  ImportInfo,
  ImportKind,
  ImportRowsResponse,
  ImportsResponse,
  NewImportBody,
  RunBody,
} from "../../admin/api/types.ts";
import { callApi, sendBytes } from "../api/call-api.ts";

export const importKinds: readonly ImportKind[] = ["created", "updated", "unchanged", "refused"];

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
  const { id } = await callApi<ImportInfo>("POST", pathOf(site), { resource, name: file.name } satisfies NewImportBody);
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
export function lookAtFile(site: string, id: string, dialect: DialectBody = {}): Promise<FilePreviewResponse> {
  return callApi("POST", `${pathOf(site, id)}/look`, dialect);
}

/** Starts a dry run. */
export function checkImport(site: string, id: string, options: CheckBody): Promise<ImportInfo> {
  return callApi("POST", `${pathOf(site, id)}/check`, options);
}

/** Starts the import, after its dry run. */
export function runImport(site: string, id: string, leftOut: RunBody): Promise<ImportInfo> {
  return callApi("POST", `${pathOf(site, id)}/run`, leftOut);
}

/** Stops a dry run or import. Rows that are already stored are kept. */
export function stopImport(site: string, id: string): Promise<ImportInfo> {
  return callApi("POST", `${pathOf(site, id)}/stop`, {});
}

/** Stops an import and removes its file. Rows that are already stored are kept. */
export function discardImport(site: string, id: string): Promise<void> {
  return callApi("DELETE", pathOf(site, id));
}

export function readImport(site: string, id: string): Promise<ImportInfo> {
  return callApi("GET", pathOf(site, id));
}

/** Reads the open imports of the operator into the site, the latest first. */
export async function readImports(site: string): Promise<readonly ImportInfo[]> {
  return (await callApi<ImportsResponse>("GET", pathOf(site))).imports;
}

/** Reads a page of the report: rows of one kind. */
export function readImportRows(
  site: string,
  id: string,
  { kind, offset, limit }: { readonly kind: ImportKind; readonly offset: number; readonly limit: number },
): Promise<ImportRowsResponse> {
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
