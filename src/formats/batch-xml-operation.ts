// Reads one operation of a batch request in XML. Its record is decoded as the document with one record is, with the same limits and errors.

import type { FieldError, ProblemError } from "../model/errors.ts";
import { toId } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import {
  addOperationNumber,
  type EnvelopeParser,
  longOperationError,
  maxFaults,
  memberNames,
  noSuchMember,
  type OperationPlace,
  operationError,
  requireShort,
} from "./batch-envelope.ts";
import type { SentOperation } from "./batch-format.ts";
import { toCanonical } from "./canonical-record.ts";
import { maxDepth, maxItemLength, maxValues, type Position } from "./syntax-errors.ts";
import { unknownAttributes } from "./xml-attributes.ts";
import { endOfElement, isNamed } from "./xml-markup.ts";
import { type XmlDocument, type XmlElement, XmlReader } from "./xml-parser.ts";
import { decodeRecordInPart, isElement, shorten } from "./xml-records.ts";

/** The name of the element of an operation. */
export const operationElement = "Operation";

/** Members that are attributes. */
const attributeNames = memberNames.filter((name) => name !== "Record");

/**
 * Reads an operation, an element in the root element `root`.
 * @param from the position of the operation in the body, for errors
 * @throws ProblemError `bad-request` if it cannot be read, `too-large` if it has more than `maxItemLength` bytes
 */
export function readXmlOperation(
  place: OperationPlace,
  from: Position,
  envelopes: EnvelopeParser,
  root: XmlElement,
): SentOperation {
  const { text, begin, number } = place;
  if (!isNamed(text, begin + 1, operationElement)) throw otherElementError(place);
  const limit = Math.min(text.length, begin + maxItemLength);
  const end = endOfElement(text, begin, operationElement, limit);
  if (end === undefined && limit < text.length) throw longOperationError(number);
  requireShort(place, end ?? limit);
  const { root: operation, isCut } = parseOperation(number, text.slice(begin, end), from);
  const path = [root, operation] as const;
  const faults: FieldError[] = [];
  const sent = attributesOf(path, faults);
  const element = recordElementOf(operation, faults);
  const { method, resource, id, ifMatch } = envelopes.parse(number, sent, faults);
  if (element && element.name !== resource.element) throw otherRecordError(number, resource, element);
  const decoded = element && decodeRecordInPart(resource, element, isCut, path);
  const length = (end ?? limit) - begin;
  const { record, canonical } = toCanonical(method, resource, decoded, length);
  return { method, resource, id, ifMatch, record, canonical, length };
}

function otherElementError({ text, begin, number }: OperationPlace): ProblemError {
  const name = /^[^ \t\r\n/>]*/.exec(text.slice(begin + 1, begin + 101))?.[0] ?? "";
  return operationError(number, [{ field: "", detail: `must be <${operationElement}>, not <${name}>` }]);
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
  else if (second) faults.push({ field: "", detail: "has more than one record; send one operation for each" });
  const stray = children.find((child) => !isElement(child) && /[^ \t\r\n]/.test(child));
  if (stray !== undefined) faults.push({ field: "", detail: `stray text: ${shorten(String(stray))}` });
  return first;
}

function otherRecordError(number: number, resource: Resource, element: XmlElement): ProblemError {
  const detail = `must hold <${resource.element}>, not <${element.name.slice(0, 100)}>`;
  return operationError(number, [{ field: "", detail }]);
}
