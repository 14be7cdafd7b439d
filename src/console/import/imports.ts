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
} from "../../admin/api/record-types.ts";
import { callApi, sendBytes } from "../api/call-api.ts";
import { sitePath } from "../api/site-path.ts";

export const importKinds: readonly ImportKind[] = ["created", "updated", "unchanged", "rejected"];

/** Size of a part in bytes. The server accepts bodies of up to 1 MiB. */
const partBytes = 1024 * 1024;

/** Returns the path of an import; without `id`, the path of the list of imports. */
function importPath(siteName: string, id = ""): string {
  return sitePath(siteName, `/imports${id && `/${id}`}`);
}

/**
 * Opens an import and sends its file. If that fails, removes the import.
 * @param onProgress called with the share of the file that has arrived, 0 to 1
 * @param signal stops the upload
 * @returns the ID of the import
 */
export async function upload(
  siteName: string,
  resource: string,
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const { id } = await callApi<ImportInfo>("POST", importPath(siteName), {
    resource,
    name: file.name,
  } satisfies NewImportBody);
  try {
    for (let part = 0; part * partBytes < file.size; part++) {
      signal.throwIfAborted();
      const bytes = await file.slice(part * partBytes, (part + 1) * partBytes).arrayBuffer();
      await sendBytes("PUT", `${importPath(siteName, id)}/parts/${part}`, bytes);
      onProgress(Math.min(1, ((part + 1) * partBytes) / file.size));
    }
    signal.throwIfAborted();
    return id;
  } catch (error) {
    await discardImport(siteName, id).catch(() => {});
    throw error;
  }
}

/** Reads a preview of the file. @param dialect an encoding or delimiter to use instead of the detected one */
export function previewFile(siteName: string, id: string, dialect: DialectBody = {}): Promise<FilePreviewResponse> {
  return callApi("POST", `${importPath(siteName, id)}/preview`, dialect);
}

/** Starts a dry run. */
export function checkImport(siteName: string, id: string, options: CheckBody): Promise<ImportInfo> {
  return callApi("POST", `${importPath(siteName, id)}/check`, options);
}

/** Starts the import, after its dry run. @param excluded the rows that the operator has excluded */
export function runImport(siteName: string, id: string, excluded: RunBody): Promise<ImportInfo> {
  return callApi("POST", `${importPath(siteName, id)}/run`, excluded);
}

/** Stops a dry run or import. Rows that are already stored are kept. */
export function stopImport(siteName: string, id: string): Promise<ImportInfo> {
  return callApi("POST", `${importPath(siteName, id)}/stop`, {});
}

/** Stops an import and removes its file. Rows that are already stored are kept. */
export function discardImport(siteName: string, id: string): Promise<void> {
  return callApi("DELETE", importPath(siteName, id));
}

export function readImport(siteName: string, id: string): Promise<ImportInfo> {
  return callApi("GET", importPath(siteName, id));
}

/** Reads the open imports of the operator into the site, the latest first. */
export async function readImports(siteName: string): Promise<readonly ImportInfo[]> {
  return (await callApi<ImportsResponse>("GET", importPath(siteName))).imports;
}

/** Reads a page of the report: rows of one kind. */
export function readImportRows(
  siteName: string,
  id: string,
  { kind, offset, limit }: { readonly kind: ImportKind; readonly offset: number; readonly limit: number },
): Promise<ImportRowsResponse> {
  return callApi("GET", `${importPath(siteName, id)}/rows?kind=${kind}&offset=${offset}&limit=${limit}`);
}

/** Returns the URL of a file with the rejected rows. */
export function rejectedUrl(siteName: string, id: string): string {
  return `/operator${importPath(siteName, id)}/rejected`;
}

/** Returns the URL of a file with all records of a resource. */
export function exportUrl(siteName: string, resource: string, format: string): string {
  return `/operator${sitePath(siteName, `/records/${resource}/export?format=${format}`)}`;
}
