// Responses that are files to download.

import { ProblemError } from "../../model/errors.ts";
import type { FileContent } from "../action-routes.ts";

/** Maximum bytes of a file in a response. */
export const maxDownloadBytes = 64 * 1024 * 1024;

/** The media type of each file format. */
export const mediaTypes = { csv: "text/csv", json: "application/json", xml: "application/xml" };

/** Returns the error for a file that is too large for a response. @param what the file, as the subject of a sentence */
export function tooLargeError(what: string): ProblemError {
  return new ProblemError(
    "too-large",
    `${what} is larger than ${maxDownloadBytes / 1024 ** 2} MiB; use the command line`,
  );
}

/** Returns a response that the browser saves as a file. In its name, unusual characters become `_`. */
export function toFile(body: FileContent["body"], type: string, name: string): FileContent {
  const safe = name.replace(/[^A-Za-z0-9._-]/g, "_");
  return {
    isFile: true,
    body,
    headers: { "Content-Type": type, "Content-Disposition": `attachment; filename="${safe}"` },
  };
}
