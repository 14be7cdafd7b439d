// Batch requests and undo in XML.

import { type FieldError, fault, ProblemError } from "../model/errors.ts";
import { unknownFieldFault } from "../model/field.ts";
import { toId } from "../model/record.ts";
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
import { maxValues } from "./syntax-errors.ts";
import { unknownAttributes } from "./xml-attributes.ts";
import { declaration, escapeEtag, problemElement, recordElement } from "./xml-elements.ts";
import { type XmlItem, type XmlList, xmlItems } from "./xml-items.ts";
import type { XmlElement } from "./xml-parser.ts";
import {
  declarationSize,
  decodeRecord,
  isElement,
  parseXmlBody,
  requireDeclaredUtf8,
  shorten,
  unwrapHint,
} from "./xml-records.ts";

export const xmlBatch: BatchFormat = {
  operations(body, resources) {
    const start = body.subarray(0, declarationSize);
    requireDeclaredUtf8(start);
    if (/^(?:\xef\xbb\xbf)?\s*\{/.test(Buffer.from(start).toString("latin1")))
      throw new ProblemError("bad-request", `the body must be \`${form}\`; send JSON to \`batch.json\``);
    const parser = new OperationParser(resources);
    return readOperations(body, xmlItems(operationList), (item) => parseOperation(item, parser));
  },
  start: (run) => `${declaration}<BatchResults${runAttribute(run)}>`,
  result: resultElement,
  separator: "",
  end: "</BatchResults>",
  undo: decodeUndo,
  undone: undoneElement,
};

const rootName = "Batch";
const operationName = "Operation";
const form = `<${rootName}><${operationName} ...>...</${operationName}></${rootName}>`;

const operationList: XmlList = {
  name: rootName,
  errors: operationErrors,
  emptyDetail: `the body is empty; send \`${form}\``,
  // The operation itself is one more.
  maxElements: maxValues + 1,
  requireRoot(root) {
    const { name } = root;
    if (name !== rootName)
      throw new ProblemError("bad-request", `the root element must be <${rootName}>, not <${name.slice(0, 100)}>`);
    for (const [attribute, wrong = fault("unknown-field")] of unknownAttributes([root], [])) {
      const field = attribute.slice(0, 100);
      throw new ProblemError("bad-request", `<${rootName}>: ${field && `\`${field}\`: `}${wrong.detail}`, {
        fieldErrors: [{ field, ...wrong }],
      });
    }
  },
  requireText(text) {
    if (isStray(text)) {
      const detail = `<${rootName}> must hold <${operationName}> only; stray text: ${shorten(text)}`;
      throw new ProblemError("bad-request", detail);
    }
  },
};

/** Whether a child of an element is text, and not only white space. */
function isStray(child: XmlElement | string): boolean {
  return !isElement(child) && /[^ \t\r\n]/.test(child);
}

/** Members that are attributes. */
const attributeNames = memberNames.filter((name) => name !== "Record");

/** Parses an operation. Its record is decoded as the document with one record is. */
function parseOperation({ number, element: operation, root, isCut }: XmlItem, parser: OperationParser): ReadOperation {
  const { name } = operation;
  if (name !== operationName)
    return { number, faults: [{ field: name.slice(0, 100), ...fault("unknown-field", `; send <${operationName}>`) }] };
  const path = [root as XmlElement, operation] as const;
  const faults: FieldError[] = [];
  const attributes = attributesOf(path, faults);
  const element = recordElementOf(operation, faults);
  const envelope = parser.envelope(number, attributes, faults);
  const wanted = envelope.resource?.element;
  if (element && envelope.resource && element.name !== wanted) {
    const hint = unwrapHint(envelope.resource, element, "in one operation each");
    addFault(faults, element.name.slice(0, 100), fault("unknown-field", hint || `; send <${wanted}>`));
  }
  if (faults.length > 0) return { number, faults };
  const checked = envelope as Envelope;
  if (!element) return parser.withoutRecord(checked);
  return parser.withRecord(
    checked,
    decodeRecord(checked.resource, element, { isCut, ancestors: path, limits: parser.limits }),
  );
}

/** Returns the attributes of an operation. @param path the operation after its root element */
function attributesOf(path: readonly [XmlElement, XmlElement], faults: FieldError[]) {
  for (const [name, known] of unknownAttributes(path, attributeNames)) {
    if (faults.length >= maxFaults) break;
    faults.push({ field: name.slice(0, 100), ...(known ?? unknownFieldFault(name, attributeNames)) });
  }
  const [, { attributes }] = path;
  const id = attributes.get("ID");
  return {
    Method: attributes.get("Method"),
    Resource: attributes.get("Resource"),
    ID: id === undefined ? undefined : (toId(id) ?? id),
    IfMatch: attributes.get("IfMatch"),
  };
}

/** Returns the only element in an operation; undefined if the operation has no element. */
function recordElementOf({ children }: XmlElement, faults: FieldError[]): XmlElement | undefined {
  const elements = children.filter(isElement);
  const member = elements.find(({ name }) => attributeNames.includes(name));
  const [first, second] = elements;
  if (member)
    faults.push({ field: member.name, ...fault("unknown-field", `; send it as an attribute of <${operationName}>`) });
  else if (second) addFault(faults, second.name.slice(0, 100), fault("too-many", " record per operation", { max: 1 }));
  const stray = children.find(isStray);
  if (stray !== undefined) addFault(faults, operationName, fault("stray-text", ` ${shorten(String(stray))}`));
  return first;
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
  const faults: FieldError[] = [...unknownAttributes([root], ["Run"])].map(([name, wrong]) => ({
    field: name.slice(0, 100) || undoName,
    ...(wrong ?? unknownFieldFault(name, ["Run"])),
  }));
  const content = root.children.find((child) => isElement(child) || isStray(child));
  if (content !== undefined) faults.push({ field: undoName, ...fault("stray-text", " and elements in it") });
  return toUndo({ Run: root.attributes.get("Run") }, faults, undoForm);
}
