// Exports the records of a resource of a site.

import { ProblemError } from "../../model/errors.ts";
import { fileFormats } from "../../operator/import/file-rows.ts";
import { exportRecords } from "../../operator/records/export-records.ts";
import type { Action, ActionContext, FileContent } from "../action-routes.ts";
import { collectFile, mediaTypes, toFile } from "./downloads.ts";
import { resourceOf } from "./parameters.ts";

export const exportActions: readonly Action[] = [
  ["GET", "/operator/sites/{site}/records/{resource}/export", "read", download],
];

/** Returns the file that `storefront export` writes. The query is `?format=csv`. */
async function download(call: ActionContext): Promise<FileContent> {
  const { query, engine } = call;
  const [site, resource] = [await call.site(), resourceOf(call)];
  const format = fileFormats.find((name) => name === (query.get("format") ?? "csv"));
  if (!format) throw new ProblemError("bad-request", `\`format\` must be one of ${fileFormats.join(", ")}`);
  const parts = await collectFile(
    exportRecords(engine, site.ID, resource, format, { isFile: true }),
    call,
    "the export",
  );
  return toFile(parts, `${mediaTypes[format]}; charset=utf-8`, `${site.Name}-${resource.path}.${format}`);
}
