// Batch requests and undo in XML. The operations are read one after the other (batch-xml-operation.ts). This file reads the text around the operations.

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
import { operationElement, readXmlOperation } from "./batch-xml-operation.ts";
import {
  endOfSpace,
  malformedErrorAt,
  maxValues,
  type Position,
  positionInSteps,
  stepLength,
} from "./syntax-errors.ts";
import { fromUtf8InSteps } from "./text-encoding.ts";
import { unknownAttributes } from "./xml-attributes.ts";
import { declaration, escapeEtag, problemElement, recordElement } from "./xml-elements.ts";
import { endOfMarkup } from "./xml-markup.ts";
import { type XmlElement, XmlReader } from "./xml-parser.ts";
import { declarationSize, isElement, parseXmlBody, requireDeclaredUtf8, shorten } from "./xml-records.ts";

export const xmlBatch: BatchFormat = {
  *operations(body, resources) {
    requireDeclaredUtf8(body.subarray(0, declarationSize));
    yield* new BatchReader(yield* fromUtf8InSteps(body), resources).operations();
  },
  start: (run) => `${declaration}<BatchResults${runAttribute(run)}>`,
  result: resultElement,
  separator: "",
  end: "</BatchResults>",
  undo: decodeUndo,
  undone: undoneElement,
};

/** Comments and other short tokens that are read between two yields. */
const maxTokensInStep = 1000;

const rootName = "Batch";
const form = `<${rootName}><${operationElement} ...>...</${operationElement}></${rootName}>`;

/** The error of a malformed text, without its position in a long body. */
class UnlocatedError extends Error {
  readonly at: number;

  constructor(detail: string, at: number) {
    super(detail);
    this.at = at;
  }
}

/** Reads the operations of a batch request. Its base class reads the markup outside of operations. */
class BatchReader extends XmlReader {
  readonly #read: (place: OperationPlace, from: Position) => ReadOperation;
  /** The number of operations that were read. */
  #count = 0;

  constructor(text: string, resources: readonly Resource[]) {
    super(text, Number.POSITIVE_INFINITY);
    const envelopes = new EnvelopeParser(resources);
    const errors = new ErrorBudget(firstErrorOnly);
    this.#read = (place, from) => readXmlOperation(place, from, envelopes, errors, this.root as XmlElement);
  }

  *operations(): Generator<ReadOperation | undefined, void, undefined> {
    try {
      yield* this.#tokens();
    } catch (error) {
      if (!(error instanceof UnlocatedError)) throw error;
      throw malformedErrorAt("well-formed XML", yield* positionInSteps(this.text, error.at), error.message);
    }
  }

  *#tokens(): Generator<ReadOperation | undefined, void, undefined> {
    this.declaration();
    yield* this.#skipSpace();
    if (this.at === this.text.length && !this.root)
      throw new ProblemError("bad-request", `the body is empty; send \`${form}\``);
    if (this.text[this.at] === "{")
      throw new ProblemError("bad-request", `the body must be \`${form}\`; send JSON to \`batch.json\``);
    for (let tokens = 1; this.at < this.text.length; tokens++) {
      if (this.#isAtElement) yield yield* this.#operation();
      else yield* this.#otherToken();
      if (tokens % maxTokensInStep === 0) yield;
      if (this.text.charCodeAt(this.at) <= 0x20) yield* this.#skipSpace();
    }
    this.end();
  }

  /** Whether the index `at` is at the start tag of an element in the root element. */
  get #isAtElement(): boolean {
    const next = this.text[this.at + 1];
    return this.open.length === 1 && this.text[this.at] === "<" && next !== "/" && next !== "!" && next !== "?";
  }

  *#operation(): Generator<undefined, ReadOperation> {
    if (this.#count === maxBatchOperations) throw tooManyOperationsError();
    const place = { text: this.text, begin: this.at, number: ++this.#count };
    const sent = yield* readOperation(place, this.#read);
    this.at += sent.length;
    return sent;
  }

  /** Reads a comment, a processing instruction, or a tag of the root element. */
  *#otherToken(): Generator<undefined, void> {
    const begin = this.at;
    if (this.open.length === 1 && this.text[begin] !== "<") throw this.#strayTextError(begin);
    this.#requireShortTag(begin);
    const hadRoot = this.root !== undefined;
    this.token();
    if (!hadRoot && this.root) requireRoot(this.root);
    if (this.open[0]?.children.length) throw this.#strayTextError(begin);
    for (let at = begin; at < this.at; at += stepLength) {
      this.requireCharacters(at, Math.min(this.at, at + stepLength));
      if (at > begin) yield;
    }
  }

  /** @throws ProblemError if the tag that begins at the index `begin` has more than `stepLength` characters */
  #requireShortTag(begin: number): void {
    if (!/^<[^!?]/.test(this.text.slice(begin, begin + 2))) return;
    const limit = begin + stepLength;
    const end = endOfMarkup(this.text, begin, Math.min(limit, this.text.length));
    if (limit < this.text.length && (end === undefined || end > limit))
      throw new ProblemError(
        "bad-request",
        `a tag outside of <${operationElement}> has more than ${stepLength} characters`,
      );
  }

  #strayTextError(begin: number): ProblemError {
    const detail = `stray text: ${shorten(/^.[^<]*/s.exec(this.text.slice(begin, begin + 100))?.[0] ?? "")}`;
    return new ProblemError("bad-request", `<${rootName}> must hold <${operationElement}> only; ${detail}`);
  }

  /** Skips white space, in steps. */
  *#skipSpace(): Generator<undefined, void> {
    this.at = yield* endOfSpace(this.text, this.at);
  }

  protected override fail(detail: string, at = this.at): never {
    throw new UnlocatedError(detail, at);
  }
}

/** @throws ProblemError if the root element has another name, or an attribute that only some elements have */
function requireRoot(root: XmlElement): void {
  const { name } = root;
  if (name !== rootName) {
    throw new ProblemError("bad-request", `the root element must be <${rootName}>, not <${name.slice(0, 100)}>`);
  }
  for (const [attribute, advice] of unknownAttributes([root], [])) {
    const field = attribute.slice(0, 100);
    const detail = advice ?? noSuchMember(attribute, [], "attribute");
    throw new ProblemError("bad-request", `<${rootName}>: ${field && `\`${field}\`: `}${detail}`, {
      fieldErrors: [{ field, detail }],
    });
  }
}

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

const undoName = "Undo";
const undoForm = `<${undoName} Run="..."/>`;

function decodeUndo(body: Uint8Array): SentUndo {
  const { root } = parseXmlBody(body, maxValues);
  if (root.name !== undoName) {
    const name = root.name.slice(0, 100);
    throw new ProblemError("bad-request", `the root element must be <${undoName}>, not <${name}>`);
  }
  const faults = [...unknownAttributes([root], ["Run"])].map(([name, advice]) => ({
    field: name.slice(0, 100) || undoName,
    detail: advice ?? noSuchMember(name, ["Run"], "attribute"),
  }));
  const content = root.children.find((child) => isElement(child) || /[^ \t\r\n]/.test(child));
  if (content !== undefined) faults.push({ field: undoName, detail: "must be empty" });
  return toUndo({ Run: root.attributes.get("Run") }, faults, undoForm);
}
