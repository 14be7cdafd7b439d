// Exports the records of a resource of a site.

import { Semaphore } from "../../lib/concurrency.ts";
import { ProblemError } from "../../model/errors.ts";
import { exportRecords } from "../../operator/export-records.ts";
import { fileFormats } from "../../operator/import/file-rows.ts";
import type { Action, ActionContext, FileContent } from "../action-routes.ts";
import { maxDownloadBytes, mediaTypes, toFile, tooLargeError } from "./downloads.ts";
import { resourceOf } from "./parameters.ts";

export const exportActions: readonly Action[] = [["GET", "/operator/sites/{site}/records/{resource}/export", download]];

/** Limits the exports that run at once to two. The others wait. */
const semaphore = new Semaphore(2);

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
      if (size > maxDownloadBytes) throw tooLargeError("the export");
      if (request.isAbandoned) break;
      parts.push(part);
    }
  });
  return toFile(parts, `${mediaTypes[format]}; charset=utf-8`, `${site.Name}-${resource.path}.${format}`);
}
