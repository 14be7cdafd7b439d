// Responses that the browser saves as files.

import { workbookMediaType } from "../../formats/workbook/write-workbook.ts";
import { ProblemError } from "../../model/errors.ts";
import type { FileFormat } from "../../operator/import/file-rows.ts";
import { type AuditEvent, consoleActor } from "../../operator/journal/events.ts";
import type { ActionContext, FileContent } from "../action-routes.ts";
import { LongWork } from "../long-work.ts";

export const maxDownloadBytes = 64 * 1024 * 1024;

export const mediaTypes: Readonly<Record<FileFormat, string>> = {
  csv: "text/csv; charset=utf-8",
  json: "application/json; charset=utf-8",
  xml: "application/xml; charset=utf-8",
  xlsx: workbookMediaType,
};

/** @param what the file, as the subject of a sentence */
export function tooLargeError(what: string): ProblemError {
  return new ProblemError(
    "too-large",
    `${what} is larger than ${maxDownloadBytes / 1024 ** 2} MiB; use the command line`,
  );
}

/** At most two files are built at once. Others wait. */
const files = new LongWork(2);

/** Minimum length of each part but the last, in UTF-16 units. */
const minPartLength = 1 << 16;

/**
 * Collects a file from its texts or bytes. Stops early if the client disconnects.
 * @param what the file, as the subject of a sentence
 * @throws ProblemError `too-large`
 */
export function collectFile(
  content: AsyncIterable<string | Uint8Array>,
  call: ActionContext,
  what: string,
): Promise<Uint8Array[]> {
  return files.run(call, async () => {
    const parts: Uint8Array[] = [];
    let [size, text] = [0, ""];
    const addPart = (part: Uint8Array = Buffer.from(text)) => {
      [size, text] = [size + part.length, ""];
      if (size > maxDownloadBytes) throw tooLargeError(what);
      parts.push(part);
    };
    for await (const next of content) {
      if (call.request.isAbandoned) return parts;
      if (typeof next !== "string") addPart(next);
      else text += next;
      if (text.length >= minPartLength) addPart();
    }
    addPart();
    return parts;
  });
}

/** Call this before the response. Resolves once the download is in the audit log, or counted. */
export function recordDownload(
  { repeatedEvents, session, run }: ActionContext,
  file: Pick<AuditEvent, "name" | "site" | "resource" | "detail">,
): Promise<void> {
  const { ID, Name } = session.operator;
  return repeatedEvents.add({ kind: "export", operator: ID, ...file }, consoleActor(Name), run);
}

/** Returns a response that the browser saves as a file. Unusual characters in its name become `_`. */
export function toFile(body: FileContent["body"], type: string, name: string): FileContent {
  const safe = name.replace(/[^A-Za-z0-9._-]/g, "_");
  return {
    isFile: true,
    body,
    headers: { "Content-Type": type, "Content-Disposition": `attachment; filename="${safe}"` },
  };
}
