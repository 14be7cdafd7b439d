// Calls the API for imports and exports, and the worker that converts workbooks to CSV.

import type { ImportInfo, ImportKind, ImportRowInfo, NewImportBody } from "../../admin/api/record-types.ts";
import { callApi, sendBytes, sitePath } from "../api/call-api.ts";
import { translate } from "../text/translate.ts";
import type { WorkbookRequest, WorkbookResponse } from "./workbook.ts";

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
  { name, content }: { readonly name: string; readonly content: Blob },
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const { id } = await callApi<ImportInfo>("POST", sitePath(siteName, "/imports"), {
    resource,
    name,
  } satisfies NewImportBody);
  try {
    for (let part = 0; part * partBytes < content.size; part++) {
      signal.throwIfAborted();
      const bytes = await content.slice(part * partBytes, (part + 1) * partBytes).arrayBuffer();
      await sendBytes("PUT", `${importPath(siteName, id)}/parts/${part}`, bytes);
      onProgress(Math.min(1, ((part + 1) * partBytes) / content.size));
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

export type EntryKind = ImportRowInfo["kind"];

// Workbooks. The worker is a separate script that browsers only load for such files.

const maxConversionMs = 180_000;

/** Recognizes a workbook by its first bytes: those of a ZIP archive, or of Excel's old format. */
export async function isWorkbook(file: Blob): Promise<boolean> {
  const [first, second, third] = new Uint8Array(await file.slice(0, 3).arrayBuffer());
  return (first === 0x50 && second === 0x4b) || (first === 0xd0 && second === 0xcf && third === 0x11);
}

export interface OpenWorkbook {
  /** The sheets' names. */
  readonly sheets: readonly string[];
  /** Converts a sheet to CSV. @param onProgress called with how much has been read, 0 to 1 @throws Error with a message for the operator */
  toCsv(sheet: number, onProgress: (share: number) => void): Promise<Blob>;
}

/**
 * Opens a workbook.
 * @param signal ends the worker; abort it once the workbook is no longer needed
 * @throws Error with a message for the operator, if the file can't be read
 */
export async function openWorkbook(file: Blob, signal: AbortSignal): Promise<OpenWorkbook> {
  const worker = new Worker("/console-xlsx.js", { type: "module" });
  signal.addEventListener("abort", () => worker.terminate());
  const opened = await ask(worker, signal, { file });
  if (opened.kind !== "sheets") throw new Error(translate("import.xlsx_broken"));
  return {
    sheets: opened.names,
    async toCsv(sheet, onProgress) {
      const converted = await ask(worker, signal, { sheet }, onProgress);
      if (converted.kind !== "csv") throw new Error(translate("import.xlsx_broken"));
      return converted.csv;
    },
  };
}

/** Sends a request to the worker, and waits for its response. @throws Error with a message for the operator */
function ask(
  worker: Worker,
  signal: AbortSignal,
  request: WorkbookRequest,
  onProgress: (share: number) => void = () => {},
): Promise<WorkbookResponse> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => reject(new Error(translate("import.xlsx_slow")))), maxConversionMs);
    const end = (settle: () => void) => {
      clearTimeout(timer);
      settle();
    };
    signal.addEventListener("abort", () => end(() => reject(signal.reason)));
    worker.onerror = () => end(() => reject(new Error(translate("import.xlsx_unloaded"))));
    worker.onmessage = ({ data }: MessageEvent<WorkbookResponse>) => {
      if (data.kind === "progress") onProgress(data.share);
      else if (data.kind === "fault") end(() => reject(new Error(translate(`import.xlsx_${data.fault}`))));
      else end(() => resolve(data));
    };
    worker.postMessage(request);
  });
}
