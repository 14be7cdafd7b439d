// Reads one operation of a batch request in XML. Its record is decoded as the document with one record is, with the same limits and errors.

import { type ErrorBudget, type FieldError, fullLimits } from "../model/errors.ts";
import { toId } from "../model/record.ts";
import {
  addFault,
  addOperationNumber,
  type Envelope,
  type EnvelopeParser,
  longOperationError,
  maxFaults,
  memberNames,
  noSuchMember,
  type OperationPlace,
  requireShort,
} from "./batch-envelope.ts";
import type { MalformedOperation, ReadOperation } from "./batch-format.ts";
import { TextRecord, validate } from "./canonical-record.ts";
import type { Decoded } from "./format.ts";
import { malformedErrorAt, maxDepth, maxItemLength, maxValues, type Position } from "./syntax-errors.ts";
import { unknownAttributes } from "./xml-attributes.ts";
import { endOfElement, isNamed } from "./xml-markup.ts";
import { type XmlDocument, type XmlElement, XmlReader } from "./xml-parser.ts";
import { decodeRecordInPart, isElement, shorten, unwrapHint } from "./xml-records.ts";

/** The name of the element of an operation. */
export const operationElement = "Operation";

/** Members that are attributes. */
const attributeNames = memberNames.filter((name) => name !== "Record");

/**
 * Reads an operation, an element in the root element `root`.
 * @param from the position of the operation in the body, for errors
 * @param errors those of the records of the request
 * @throws ProblemError `bad-request` if it cannot be parsed, `too-large` if it has more than `maxItemLength` bytes
 */
export function readXmlOperation(
  place: OperationPlace,
  from: Position,
  envelopes: EnvelopeParser,
  errors: ErrorBudget,
  root: XmlElement,
): ReadOperation {
  const { text, begin, number } = place;
  if (!isNamed(text, begin + 1, operationElement)) return readOtherElement(place, from);
  const limit = Math.min(text.length, begin + maxItemLength);
  const end = endOfElement(text, begin, operationElement, limit);
  if (end === undefined && limit < text.length) throw longOperationError(number);
  requireShort(place, end ?? limit);
  const { root: operation, isCut } = parseOperation(number, text.slice(begin, end), from);
  const length = (end ?? limit) - begin;
  const path = [root, operation] as const;
  const faults: FieldError[] = [];
  const attributes = attributesOf(path, faults);
  const element = recordElementOf(operation, faults);
  const envelope = envelopes.parse(attributes, faults);
  const wanted = envelope.resource?.element;
  if (element && envelope.resource && element.name !== wanted) {
    const hint = unwrapHint(envelope.resource, element, "in one operation each");
    addFault(faults, element.name.slice(0, 100), `must be <${wanted}>${hint}`);
  }
  if (faults.length > 0) return { number, faults, length };
  const { method, resource, id, ifMatch } = envelope as Envelope;
  const sent = { number, method, resource, id, ifMatch, length };
  if (!element) return { ...sent, record: undefined, limits: fullLimits };
  const record = decodeRecordInPart(resource, element, isCut, path, errors.limits);
  const validated = validate(sent, record, errors);
  return { ...sent, record: validated.canonical ? toText(record) : record, ...validated };
}

/** Returns a record without errors as text, with `ID` in front as in a JSON record. */
function toText({ input }: Decoded): TextRecord {
  const { ID, ...values } = input as Record<string, unknown>;
  return new TextRecord(JSON.stringify({ ID, ...values }));
}

/** Reads another element in place of the operation. @throws ProblemError `bad-request` if its end is missing */
function readOtherElement({ text, begin, number }: OperationPlace, from: Position): MalformedOperation {
  const name = /^[^ \t\r\n/>]*/.exec(text.slice(begin + 1, begin + 101))?.[0] ?? "";
  const end = endOfElement(text, begin, name, Math.min(text.length, begin + maxItemLength));
  if (end === undefined)
    throw addOperationNumber(number, malformedErrorAt("well-formed XML", from, `\`</${name}>\` is missing`));
  return { number, faults: [{ field: name, detail: `must be <${operationElement}>` }], length: end - begin };
}

function parseOperation(number: number, text: string, from: Position): XmlDocument {
  try {
    // The record is one element deeper than in a document of its own.
    return new XmlReader(text, maxValues + 1, from, maxDepth + 1).read();
  } catch (error) {
    throw addOperationNumber(number, error);
  }
}

/** Returns the attributes of an operation. @param path the operation after its root element */
function attributesOf(path: readonly [XmlElement, XmlElement], faults: FieldError[]) {
  for (const [name, advice] of unknownAttributes(path, attributeNames)) {
    if (faults.length < maxFaults)
      faults.push({ field: name.slice(0, 100), detail: advice ?? noSuchMember(name, attributeNames, "attribute") });
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
  if (member) faults.push({ field: member.name, detail: `must be an attribute of <${operationElement}>` });
  else if (second) addFault(faults, second.name.slice(0, 100), "is a second record; send one operation for each");
  const stray = children.find((child) => !isElement(child) && /[^ \t\r\n]/.test(child));
  if (stray !== undefined) addFault(faults, operationElement, `stray text: ${shorten(String(stray))}`);
  return first;
}
