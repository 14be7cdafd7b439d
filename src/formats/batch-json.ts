// Batch requests and undo in JSON.

import { type Fault, type FieldError, fault, ProblemError } from "../model/errors.ts";
import { isJsonObject, unknownFieldFault, wrongTypeFault } from "../model/field.ts";
import { type BatchFormat, type EncodedResult, type SentUndo, toUndo, type Undone } from "./batch-format.ts";
import {
  addFault,
  type Envelope,
  maxFaults,
  memberNames,
  OperationParser,
  operationErrors,
  type ReadOperation,
  readOperations,
} from "./batch-operation.ts";
import type { ItemReader } from "./items.ts";
import { type JsonItem, JsonText } from "./json-items.ts";
import { parseJson, parseJsonWithout } from "./json-parser.ts";
import { maxValues, positionOf } from "./syntax-errors.ts";
import { fromUtf8 } from "./text-encoding.ts";

export const jsonBatch: BatchFormat = {
  operations(body, resources) {
    const parser = new OperationParser(resources);
    return readOperations(body, operationItems(), (item) => matchUsual(item, parser) ?? parseOperation(item, parser));
  },
  start: (run) => `{"Run":${JSON.stringify(run)},"Results":[`,
  result: resultObject,
  separator: ",",
  end: "]}",
  undo: decodeUndo,
  undone: undoneObject,
};

const listName = "Operations";
const form = `{"${listName}": [...]}`;

/** Reads the operations in the only member of a body. */
function* operationItems(): ItemReader<JsonItem> {
  const text = new JsonText(operationErrors);
  yield* text.skipSpace();
  if (text.next === undefined) throw new ProblemError("bad-request", `the body is empty; send \`${form}\``);
  if (text.next === "<")
    throw new ProblemError("bad-request", `the body must be \`${form}\`; send XML to \`batch.xml\``);
  if (!text.skip("{")) throw isValue(text.next) ? noListError() : text.error("start");
  yield* text.skipSpace();
  if (text.next === "}") throw noListError();
  let hasList = false;
  do {
    yield* text.skipSpace();
    const name = yield* text.name();
    if (name !== listName || hasList) throw otherMemberError(name);
    yield* text.skipSpace();
    if (!text.skip(":")) throw text.error("colon");
    yield* text.skipSpace();
    if (text.next === '"') throw listInStringError();
    if (text.next !== "[") throw isValue(text.next) ? noListError() : text.error("value");
    yield* text.list();
    hasList = true;
    yield* text.skipSpace();
  } while (text.skip(","));
  if (!text.skip("}")) throw text.error("member");
  yield* text.end();
}

/** Whether a JSON value begins with this character. */
function isValue(first = ""): boolean {
  return /^[[{"tfn0-9-]$/.test(first);
}

function noListError(): ProblemError {
  return new ProblemError("bad-request", `the body must be \`${form}\``);
}

function listInStringError(): ProblemError {
  return memberError(listName, wrongTypeFault("array", "", "; remove the quotes around it"));
}

/** Returns the error of a member beside the list. */
function otherMemberError(name: string): ProblemError {
  return memberError(
    name.slice(0, 100),
    name === listName ? fault("duplicate-field") : unknownFieldFault(name, [listName]),
  );
}

function memberError(field: string, wrong: Fault): ProblemError {
  return new ProblemError("bad-request", `the body must be \`${form}\`: \`${field}\`: ${wrong.detail}`, {
    fieldErrors: [{ field, ...wrong }],
  });
}

/** The start of an operation as most programs send it, up to its record, which is the last member. */
const usualStart = /^\{"Method":"([A-Z]+)","Resource":"([a-z]+)",(?:"ID":([1-9][0-9]{0,14}),)?"Record":/;

/** Reads an operation in that form with a canonical record, without parsing it. Returns undefined for anything else. */
function matchUsual({ text, number }: JsonItem, parser: OperationParser): ReadOperation | undefined {
  const match = usualStart.exec(text);
  if (!match || !text.endsWith("}")) return undefined;
  const [start, Method, Resource, digits] = match;
  const ID = digits === undefined ? undefined : Number(digits);
  const faults: FieldError[] = [];
  const envelope = parser.envelope(number, { Method, Resource, ID, IfMatch: undefined }, faults);
  return faults.length > 0 ? undefined : parser.withCanonical(envelope as Envelope, text.slice(start.length, -1));
}

/** Parses an operation. Its record is parsed as a body with one record is, and not at all if it's canonical. */
function parseOperation({ text, number, findStart }: JsonItem, parser: OperationParser): ReadOperation {
  const inOperation = <T>(parse: () => T): T => {
    try {
      return parse();
    } catch (error) {
      throw operationErrors.inItem(number, error);
    }
  };
  const { input, fieldErrors, isCut, unparsed } = inOperation(() =>
    parseJsonWithout("Record", text, maxValues, findStart),
  );
  if (!isJsonObject(input)) return { number, faults: [{ field: "", ...wrongTypeFault("object", input) }] };
  const unknown = Object.keys(input).filter((name) => !memberNames.includes(name));
  const faults: FieldError[] = unknown
    .slice(0, maxFaults)
    .map((name) => ({ field: name.slice(0, 100), ...unknownFieldFault(name, memberNames) }));
  if (faults.length === maxFaults) return { number, faults };
  // The members that are missing may be those that weren't read.
  if (isCut) return { number, faults: [...faults, ...fieldErrors.slice(0, 1)] };
  faults.push(...fieldErrors.filter(({ field }) => memberNames.includes(field)));
  const { Method, Resource, ID, IfMatch } = input;
  const envelope = parser.envelope(number, { Method, Resource, ID, IfMatch }, faults);
  const decode = (json: string, start: number) =>
    inOperation(() => parseJson(json, maxValues, () => positionOf(text, start, findStart())));
  if (faults.length > 0) {
    if (unparsed && !unparsed.text.startsWith("{")) {
      const { input: record } = decode(unparsed.text, unparsed.start);
      addFault(faults, "Record", wrongTypeFault("object", record));
    }
    return { number, faults };
  }
  if (!unparsed) return parser.withoutRecord(envelope as Envelope);
  return (
    parser.withCanonical(envelope as Envelope, unparsed.text) ??
    parser.withRecord(envelope as Envelope, decode(unparsed.text, unparsed.start), unparsed.text)
  );
}

function resultObject(result: EncodedResult): string {
  const { status } = result;
  if ("problem" in result) return `{"Status":${status},"Problem":${JSON.stringify(result.problem)}}`;
  const { changed, etag, record } = result;
  const tag = etag === undefined ? "" : `"ETag":${JSON.stringify(etag)},`;
  return `{"Status":${status},"Changed":${changed},${tag}"Record":${record}}`;
}

function decodeUndo(body: Uint8Array): SentUndo {
  const text = fromUtf8(body);
  if (/^[ \t\r\n]*$/.test(text)) throw new ProblemError("bad-request", 'the body is empty; send `{"Run": "..."}`');
  const { input, fieldErrors } = parseJson(text, maxValues);
  return toUndo(input, fieldErrors, '{"Run": "..."}');
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
