import type { FeedChange } from "../model/change.ts";
import { storedEncoding } from "../model/encoding.ts";
import { ProblemError } from "../model/errors.ts";
import { recordEtag } from "../model/etag.ts";
import { toDeclaredJson } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { jsonBatch } from "./batch-json.ts";
import type { Decoded, Format } from "./format.ts";
import { parseJson } from "./json-parser.ts";
import { maxValues } from "./syntax-errors.ts";
import { fromUtf8 } from "./text-encoding.ts";

export const json: Format = {
  ...storedEncoding,
  contentType: "application/json; charset=utf-8",
  problemType: "application/problem+json",
  decode: (_resource, body) => decodeJson(fromUtf8(body), maxValues),
  part: (_resource, record) => JSON.stringify(record),
  problem: (problem) => JSON.stringify(problem),
  document: (_name, value) => JSON.stringify(value),
  feed: {
    start: () => '{"Changes":[',
    item: changeObject,
    separator: ",",
    end: ({ next, hasMore }) => `],"Next":${JSON.stringify(next)},"More":${hasMore}}`,
  },
  batch: jsonBatch,
};

function changeObject(resource: Resource, { cursor, epoch, change, run }: FeedChange): string {
  const { revision, at, operation, id, body } = change;
  const isDeleted = operation === "delete";
  const members = {
    Cursor: cursor,
    Revision: revision,
    Time: new Date(at).toISOString(),
    Operation: operation,
    Resource: resource.path,
    ID: id,
    ETag: isDeleted ? null : recordEtag(resource, "json", epoch, revision),
    Run: run,
  };
  const record = isDeleted ? null : toDeclaredJson(resource, body);
  return `${JSON.stringify(members).slice(0, -1)},"Record":${record}}`;
}

/**
 * Decodes the JSON value of a body or a file.
 * @param maxCount maximum number of values. Values after it are not read, which is reported as a field error
 * @throws ProblemError `bad-request` if the text is empty, malformed or nested too deeply
 */
export function decodeJson(text: string, maxCount = Number.POSITIVE_INFINITY): Decoded {
  if (/^[ \t\r\n]*$/.test(text)) throw new ProblemError("bad-request", "the body is empty; send a JSON object");
  return parseJson(text, maxCount);
}
