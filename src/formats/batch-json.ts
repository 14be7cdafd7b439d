import { ProblemError } from "../model/errors.ts";
import type { BatchFormat, EncodedResult, Undone } from "./batch-format.ts";

export const jsonBatch: BatchFormat = {
  operations: () => {
    throw new ProblemError("not-implemented", "in the next push");
  },
  start: (run) => `{"Run":${JSON.stringify(run)},"Results":[`,
  result: resultObject,
  separator: ",",
  end: "]}",
  undo: () => {
    throw new ProblemError("not-implemented", "in the next push");
  },
  undone: undoneObject,
};

function resultObject(result: EncodedResult): string {
  const { status } = result;
  if ("problem" in result) return `{"Status":${status},"Problem":${JSON.stringify(result.problem)}}`;
  const { changed, etag, record } = result;
  const tag = etag === undefined ? "" : `"ETag":${JSON.stringify(etag)},`;
  return `{"Status":${status},"Changed":${changed},${tag}"Record":${record}}`;
}

function undoneObject({ run, deleted, restored, unchanged, skipped }: Undone): string {
  return JSON.stringify({
    Run: run,
    Deleted: deleted,
    Restored: restored,
    Unchanged: unchanged,
    Skipped: skipped.map(({ resource, id, revision }) => ({ Resource: resource.path, ID: id, Revision: revision })),
  });
}
