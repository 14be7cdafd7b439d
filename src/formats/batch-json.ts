// Batch requests and undo in JSON. The operations are read one after the other (batch-json-operation.ts). This file reads the text around the operations.

import { ErrorBudget, firstErrorOnly, ProblemError } from "../model/errors.ts";
import { maxBatchOperations } from "../model/limits.ts";
import type { Resource } from "../model/resource.ts";
import {
  EnvelopeParser,
  noSuchMember,
  type OperationPlace,
  readOperation,
  tooManyOperationsError,
  toUndo,
} from "./batch-envelope.ts";
import type { BatchFormat, EncodedResult, ReadOperation, SentUndo, Undone } from "./batch-format.ts";
import { readJsonOperation } from "./batch-json-operation.ts";
import { openStringDetail, type Place, unexpectedDetail } from "./json-advice.ts";
import { endOfString } from "./json-items.ts";
import { parseJson } from "./json-parser.ts";
import {
  endOfSpace,
  malformedErrorAt,
  maxValues,
  type Position,
  positionInSteps,
  stepLength,
} from "./syntax-errors.ts";
import { fromUtf8, fromUtf8InSteps } from "./text-encoding.ts";

export const jsonBatch: BatchFormat = {
  *operations(body, resources) {
    yield* new BatchReader(yield* fromUtf8InSteps(body), resources).operations();
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

/** Reads the operations of a batch request. */
class BatchReader {
  readonly #text: string;
  readonly #read: (place: OperationPlace, from: Position) => ReadOperation;
  #at = 0;
  /** The number of operations that were read. */
  #count = 0;

  constructor(text: string, resources: readonly Resource[]) {
    this.#text = text;
    const envelopes = new EnvelopeParser(resources);
    const errors = new ErrorBudget(firstErrorOnly);
    this.#read = (place, from) => readJsonOperation(place, from, envelopes, errors);
  }

  *operations(): Generator<ReadOperation | undefined, void, undefined> {
    yield* this.#skipSpace();
    if (this.#at === this.#text.length) throw new ProblemError("bad-request", `the body is empty; send \`${form}\``);
    if (!this.#skip("{")) throw yield* this.#otherValueError("start");
    yield* this.#skipSpace();
    if (this.#text[this.#at] === "}") throw noListError();
    let hasList = false;
    do {
      yield* this.#requireListName(hasList);
      yield* this.#list();
      hasList = true;
      yield* this.#skipSpace();
    } while (this.#skip(","));
    if (!this.#skip("}")) throw yield* this.#unexpectedError("member");
    yield* this.#skipSpace();
    if (this.#at < this.#text.length) throw yield* this.#unexpectedError("end");
  }

  /** Reads the name of a member, which must be that of the list. @param isKnown whether the list was read already */
  *#requireListName(isKnown: boolean): Generator<undefined, void> {
    yield* this.#skipSpace();
    if (this.#text[this.#at] !== '"') throw yield* this.#unexpectedError("name");
    const start = this.#at;
    const limit = Math.min(this.#text.length, start + stepLength);
    const end = endOfString(this.#text, start + 1, limit);
    if (end === -1 && limit < this.#text.length) throw otherMemberError(this.#text.slice(start + 1, limit));
    if (end === -1) throw yield* this.#malformedError(openStringDetail(this.#text, start));
    const name = String(yield* this.#parse(start, end + 1));
    if (name !== listName || isKnown) throw otherMemberError(name);
    this.#at = end + 1;
    yield* this.#skipSpace();
    if (!this.#skip(":")) throw yield* this.#unexpectedError("colon");
    yield* this.#skipSpace();
  }

  *#list(): Generator<ReadOperation | undefined, void, undefined> {
    if (this.#text[this.#at] === '"') throw listInStringError();
    if (!this.#skip("[")) throw yield* this.#otherValueError("value");
    yield* this.#skipSpace();
    if (this.#skip("]")) return;
    do {
      // Without space, the call of a generator for each operation is saved.
      if (this.#isAtSpace) yield* this.#skipSpace();
      if (this.#count === maxBatchOperations) throw tooManyOperationsError();
      yield yield* this.#operation();
      this.#count++;
      if (this.#isAtSpace) yield* this.#skipSpace();
    } while (this.#skip(","));
    if (!this.#skip("]")) throw yield* this.#unexpectedError("item");
  }

  *#operation(): Generator<undefined, ReadOperation> {
    const place = { text: this.#text, begin: this.#at, number: this.#count + 1 };
    const sent = yield* readOperation(place, this.#read);
    this.#at += sent.length;
    return sent;
  }

  /** Parses the part of the text from `start` to `end`. @throws ProblemError `bad-request` with its position in the body */
  *#parse(start: number, end: number): Generator<undefined, unknown> {
    const part = this.#text.slice(start, end);
    try {
      return parseJson(part, maxValues).input;
    } catch {
      const from = yield* positionInSteps(this.#text, start);
      return parseJson(part, maxValues, () => from).input;
    }
  }

  get #isAtSpace(): boolean {
    return this.#text.charCodeAt(this.#at) <= 0x20;
  }

  /** Skips white space, in steps. */
  *#skipSpace(): Generator<undefined, void> {
    this.#at = yield* endOfSpace(this.#text, this.#at);
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  *#unexpectedError(place: Place): Generator<undefined, ProblemError> {
    return yield* this.#malformedError(unexpectedDetail(this.#text, this.#at, place));
  }

  /** Returns the error of a text that is malformed at the index `#at`. */
  *#malformedError(detail: string): Generator<undefined, ProblemError> {
    return malformedErrorAt("valid JSON", yield* positionInSteps(this.#text, this.#at), detail);
  }

  /** Returns the error of another value in place of the body or the list, or of no value. */
  *#otherValueError(place: Place): Generator<undefined, ProblemError> {
    const next = this.#text[this.#at] ?? "";
    if (/^[[{"tfn0-9-]$/.test(next)) return noListError();
    if (next === "<") return new ProblemError("bad-request", `the body must be \`${form}\`; send XML to \`batch.xml\``);
    return yield* this.#unexpectedError(place);
  }
}

function noListError(): ProblemError {
  return new ProblemError("bad-request", `the body must be \`${form}\``);
}

function listInStringError(): ProblemError {
  const detail = "must be a list, not a string: send it without quotes around it";
  return new ProblemError("bad-request", `\`${listName}\` ${detail}`, { fieldErrors: [{ field: listName, detail }] });
}

/** Returns the error of a member beside the list. */
function otherMemberError(name: string): ProblemError {
  const field = name.slice(0, 100);
  const detail = name === listName ? "appears more than once" : noSuchMember(name, [listName]);
  return new ProblemError("bad-request", `the body must be \`${form}\`: \`${field}\`: ${detail}`, {
    fieldErrors: [{ field, detail }],
  });
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
