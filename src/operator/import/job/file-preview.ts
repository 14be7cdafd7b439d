// Previews an uploaded file: its format, and how it's read if it's a table.

import { recognizeUnicode } from "../../../formats/text-encoding.ts";
import type { Resource } from "../../../model/resource.ts";
import { describeColumns, type FileColumn, maxColumns } from "../column-guess.ts";
import { type FileFormat, openTable } from "../file-rows.ts";
import type { FileRow, TableOptions } from "../open-table.ts";
import type { Upload } from "./upload.ts";

/** Without the rest for JSON and XML. */
interface UploadPreview {
  readonly format: FileFormat;
  readonly encoding?: string | undefined;
  readonly delimiter?: string | undefined;
  readonly sheets?: readonly string[] | undefined;
  readonly sheet?: string | undefined;
  /** 0 if no row names the columns. */
  readonly headerRow?: number;
  /** The first rows with content, and the header. */
  readonly rows?: readonly Pick<FileRow, "number" | "cells">[];
  readonly columns?: readonly FileColumn[];
}

const shownRows = 10;
/** In characters. */
const maxCellLength = 200;

/**
 * @param given what's already known
 * @throws ProblemError `bad-request` if the file can't be read like this
 */
export async function previewUpload(
  upload: Upload,
  resource: Resource,
  given: TableOptions = {},
): Promise<UploadPreview> {
  const { format } = upload;
  if (format === "json" || format === "xml") return { format };
  // Windows programs in western Europe write windows-1252.
  const encoding = given.encoding ?? recognizeUnicode(upload.start) ?? (upload.isUtf8 ? "utf-8" : "windows-1252");
  const file = upload.open();
  try {
    const table = await openTable(resource, file, format, { ...given, encoding });
    const { header, top, sheets, delimiter } = table;
    try {
      return {
        format,
        ...(sheets ? { sheets: sheets.visible, sheet: sheets.read } : { encoding, delimiter }),
        headerRow: header.number,
        rows: top
          .filter(({ number }, index) => index < shownRows || number === header.number)
          .map(({ number, cells }) => ({
            number,
            cells: cells.slice(0, maxColumns).map((cell) => cell.slice(0, maxCellLength)),
          })),
        columns: describeColumns(resource, table),
      };
    } finally {
      await table.close();
    }
  } finally {
    file.close();
  }
}
