// Exports the records of a resource of a site. And the responses that are files to download.

import { Semaphore } from "../../lib/concurrency.ts";
import { ProblemError } from "../../model/errors.ts";
import { exportRecords } from "../../operator/import/export-records.ts";
import { fileFormats } from "../../operator/import/file-rows.ts";
import type { Action, ActionContext, FileContent } from "../action-routes.ts";
import { resourceOf } from "./resources.ts";

export const exportActions: readonly Action[] = [["GET", "/operator/sites/{site}/records/{resource}/export", download]];

/** Maximum bytes of a file in a response. */
export const maxDownload = 64 * 1024 * 1024;

/** Limits the exports that run at once to two. The others wait. */
const semaphore = new Semaphore(2);

/** The media type of each file format. */
export const mediaTypes = { csv: "text/csv", json: "application/json", xml: "application/xml" };

/** Returns the file that `storefront export` writes. The query is `?format=csv`. */
async function download(call: ActionContext): Promise<FileContent> {
  const { query, request, engine } = call;
  const [site, resource] = [await call.site(), resourceOf(call)];
  const format = fileFormats.find((name) => name === (query.get("format") ?? "csv"));
  if (!format) throw new ProblemError("bad-request", `\`format\` must be one of ${fileFormats.join(", ")}`);
  const parts: Buffer[] = [];
  let size = 0;
  await semaphore.run(async () => {
    if (request.isAbandoned) return;
    for await (const text of exportRecords(engine, site.ID, resource, format)) {
      const part = Buffer.from(text);
      size += part.length;
      if (size > maxDownload) throw tooLargeError("the export");
      if (request.isAbandoned) break;
      parts.push(part);
    }
  });
  return toFile(parts, `${mediaTypes[format]}; charset=utf-8`, `${site.Name}-${resource.path}.${format}`);
}

export function tooLargeError(what: string): ProblemError {
  return new ProblemError("too-large", `${what} is larger than ${maxDownload / 1024 ** 2} MiB; use the command line`);
}

export function toFile(body: FileContent["body"], type: string, name: string): FileContent {
  const safe = name.replace(/[^A-Za-z0-9._-]/g, "_");
  return {
    isFile: true,
    body,
    headers: { "Content-Type": type, "Content-Disposition": `attachment; filename="${safe}"` },
  };
}
