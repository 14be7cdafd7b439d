// Calls the API for imports.

import type { ImportInfo, ImportKind, ImportRowInfo, NewImportBody } from "../../admin/api/record-types.ts";
import { callApi, sendBytes, sitePath } from "../api/call-api.ts";

export const importKinds: readonly ImportKind[] = ["created", "updated", "unchanged", "rejected"];

/** Bytes per part. The server accepts bodies of up to 1 MiB. */
const partBytes = 1024 * 1024;

export function importPath(siteName: string, id: string): string {
  return sitePath(siteName, `/imports/${id}`);
}

/**
 * Opens an import and uploads its file. Removes the import again if that fails.
 * @param onProgress called with how much of the file has been uploaded, 0 to 1
 * @param signal stops the upload
 * @returns the import's ID
 */
export async function upload(
  siteName: string,
  resource: string,
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const { id } = await callApi<ImportInfo>("POST", sitePath(siteName, "/imports"), {
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

/** Stops an import and removes its file. Rows already stored are kept. */
export function discardImport(siteName: string, id: string): Promise<void> {
  return callApi("DELETE", importPath(siteName, id));
}

/** A kind of rows, or all rows that have warnings. */
export type EntryKind = ImportRowInfo["kind"] | "warned";
