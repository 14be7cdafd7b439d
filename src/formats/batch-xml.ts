import { ProblemError } from "../model/errors.ts";
import type { BatchFormat, EncodedResult, Undone } from "./batch-format.ts";
import { declaration, escapeEtag, problemElement, recordElement } from "./xml-elements.ts";

export const xmlBatch: BatchFormat = {
  operations: () => {
    throw new ProblemError("not-implemented", "in the next push");
  },
  start: (run) => `${declaration}<BatchResults${runAttribute(run)}>`,
  result: resultElement,
  separator: "",
  end: "</BatchResults>",
  undo: () => {
    throw new ProblemError("not-implemented", "in the next push");
  },
  undone: undoneElement,
};

/** Returns the attribute `Run`, or nothing without a run. Its value is letters, digits and hyphens. */
function runAttribute(run: string | null): string {
  return run === null ? "" : ` Run="${run}"`;
}

function resultElement(result: EncodedResult): string {
  const { status } = result;
  if ("problem" in result) return `<Result Status="${status}">${problemElement(result.problem)}</Result>`;
  const { changed, etag, resource, record } = result;
  const tag = etag === undefined ? "" : ` ETag="${escapeEtag(etag)}"`;
  const element = recordElement(resource, JSON.parse(record));
  return `<Result Status="${status}" Changed="${changed}"${tag}>${element}</Result>`;
}

function undoneElement({ run, deleted, restored, unchanged, skipped }: Undone): string {
  const items = skipped.map(
    ({ resource, id, revision }) => `<Skipped Resource="${resource.path}" ID="${id}" Revision="${revision}"/>`,
  );
  const counts = `Deleted="${deleted}" Restored="${restored}" Unchanged="${unchanged}"`;
  return `${declaration}<Undone${runAttribute(run)} ${counts}>${items.join("")}</Undone>`;
}
