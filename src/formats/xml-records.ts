// Decodes records from XML (contract section 5).

import { describeCharacter, describeOddity, toPlainCharacters } from "../lib/characters.ts";
import { normalizeName } from "../lib/text.ts";
import {
  type ErrorLimits,
  type FieldError,
  fault,
  fullLimits,
  hasTooManyFieldErrors,
  ProblemError,
} from "../model/errors.ts";
import type { Field, Fields } from "../model/field.ts";
import { findMeantField } from "../model/field-vocabulary.ts";
import { methodAdvice } from "../model/parameters.ts";
import { severalAdvice, toId } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Decoded } from "./format.ts";
import { maxValues } from "./syntax-errors.ts";
import { findWideEncoding, fromUtf8, isUtf8Name } from "./text-encoding.ts";
import { unknownAttributes } from "./xml-attributes.ts";
import { parseXml, type XmlDocument, type XmlElement } from "./xml-parser.ts";

/**
 * @param maxCount maximum elements; the rest isn't read
 * @throws ProblemError `bad-request` if the document is malformed or has a DOCTYPE; `unsupported-media-type` if it isn't UTF-8
 */
export function parseXmlBody(body: Uint8Array, maxCount: number): XmlDocument {
  requireDeclaredUtf8(body);
  const text = fromUtf8(body);
  if (/^[ \t\r\n]*$/.test(text)) throw new ProblemError("bad-request", "the body is empty; send an XML document");
  return parseXml(text, maxCount);
}

/** Reads at most `maxValues` elements. @throws ProblemError as `parseXmlBody` and `decodeRecord` do */
export function decodeXml(resource: Resource, body: Uint8Array): Decoded {
  const { root, isCut } = parseXmlBody(body, maxValues);
  return decodeRecord(resource, root, { isCut });
}

interface RecordContext {
  /** Whether reading stopped within the element, which becomes a field error. */
  readonly isCut?: boolean;
  /** The elements that contain it, outermost first. */
  readonly ancestors?: readonly XmlElement[];
  /** If there are more errors than this, one more is returned. */
  readonly limits?: ErrorLimits;
}

/** @throws ProblemError `bad-request` unless the element has the name of the resource's records */
export function decodeRecord(
  resource: Resource,
  root: XmlElement,
  { isCut = false, ancestors = [], limits = fullLimits }: RecordContext,
): Decoded {
  if (root.name !== resource.element) throw otherRootError(resource, root);
  const fieldErrors: FieldError[] = [];
  const input: Record<string, unknown> = Object.create(null);
  const fields = { ID: idElement, ...resource.fields };
  const position = { resource, fields, path: [...ancestors, root], prefix: "", fieldErrors, limits };
  checkAttributes(position, ["ID"]);
  const id = root.attributes.get("ID");
  const attribute = id === undefined ? undefined : (toId(id) ?? id);
  decodeChildren(root, position, input);
  agreeOnId(input, attribute, fieldErrors);
  if (isCut)
    fieldErrors.unshift({ field: "", ...fault("too-many", " elements; the rest wasn't read", { max: maxValues }) });
  return { input, fieldErrors };
}

/** How many bytes to search for an XML declaration with an encoding. */
export const declarationSize = 1024;

const idElement: Field = { kind: "text", max: 16, required: false, description: "", example: "" };

/** @throws ProblemError `unsupported-media-type` if the document is UTF-16, or declares another encoding than UTF-8 */
export function requireDeclaredUtf8(body: Uint8Array): void {
  const encoding = findWideEncoding(body);
  if (encoding !== undefined)
    throw new ProblemError("unsupported-media-type", `the body is in ${encoding}; send UTF-8`);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const start = bytes.toString("latin1", 0, Math.max(0, bytes.indexOf("?>")));
  const declared = /^(?:\xef\xbb\xbf)?<\?xml\s[^>]*?encoding\s*=\s*["']([^"']*)["']/.exec(start)?.[1];
  if (declared !== undefined && !isUtf8Name(declared)) {
    throw new ProblemError(
      "unsupported-media-type",
      `the document declares the encoding ${declared.slice(0, 40)}; send UTF-8, and declare UTF-8 or no encoding`,
    );
  }
}

function otherRootError(resource: Resource, root: XmlElement): ProblemError {
  const name = root.name.slice(0, 100);
  const detail = `the root element must be <${resource.element}>, not <${name}>`;
  return new ProblemError("bad-request", detail + unwrapHint(resource, root, severalAdvice(resource, "xml")));
}

/** How many elements around a record we recognize as wrappers. */
const maxWrappers = 4;
/** How many children of an element to search for a record or its fields. */
const maxSearched = 10;

/** How to send a record without the elements around it; empty if there's no record. @param several how to send several records */
export function unwrapHint({ element }: Resource, root: XmlElement, several: string): string {
  const found = findRecords(normalizeName(element), root, 1);
  if (!found) return "";
  const alone = `; send one <${element}>, without <${found.around.join("><")}> around it`;
  return found.count === 1 ? alone : `${alone}, or several ${several}`;
}

/** Finds records in an element. Returns the names of the elements around them, and how many there are. */
function findRecords(
  normalName: string,
  node: XmlElement,
  depth: number,
): { readonly around: readonly string[]; readonly count: number } | undefined {
  const children = node.children.filter(isElement);
  const name = node.name.slice(0, 100);
  const count = children.filter((child) => normalizeName(child.name.replace(/^.*:/, "")) === normalName).length;
  if (count > 0) return { around: [name], count };
  if (depth === maxWrappers) return undefined;
  for (const child of children.slice(0, maxSearched)) {
    const found = findRecords(normalName, child, depth + 1);
    if (found) return { around: [name, ...found.around], count: found.count };
  }
  return undefined;
}

/** The record or group being read. */
interface Position {
  readonly resource: Resource;
  readonly fields: Fields;
  /** Its ancestors, outermost first, then the element itself. */
  readonly path: readonly XmlElement[];
  /** The element's dotted path, ending with a dot; empty for the record. */
  readonly prefix: string;
  readonly fieldErrors: FieldError[];
  readonly limits: ErrorLimits;
}

/** @param own the attributes the element may have @param toEmpty as for `unknownAttributes` */
function checkAttributes(position: Position, own: readonly string[], toEmpty?: string): void {
  const { path, prefix, fieldErrors, limits } = position;
  for (const [name, known] of unknownAttributes(path, own, toEmpty)) {
    if (hasTooManyFieldErrors(fieldErrors, limits)) return;
    const field = name === "" ? prefix.slice(0, -1) : prefix + name.slice(0, 100);
    const hint = known ? "" : attributeHint(name, path.at(-1) as XmlElement, position, own.length > 0);
    fieldErrors.push({ field, ...(known ?? fault("unknown-field", hint)) });
  }
}

/** Says where the value of an unknown attribute belongs. */
function attributeHint(name: string, node: XmlElement, position: Position, isRecord: boolean): string {
  if (isRecord && /^id$/i.test(name)) return "; did you mean `ID`?";
  const { resource, fields, prefix, fieldErrors, limits } = position;
  if (fieldErrors.length >= limits.maxHints) return "";
  const group = fields[node.name];
  if (!isRecord && group?.kind === "text")
    return node.children.length === 0 ? `; write the value as text: <${node.name}>...</${node.name}>` : "";
  const meant = findMeantField(resource, prefix + name);
  const names = meant?.split(".") ?? [];
  if (names.length === 0 || meant === "ID") return "";
  const [last = "", ...around] = names.reverse();
  const element = around.reduce((inner, outer) => `<${outer}>${inner}</${outer}>`, `<${last}>...</${last}>`);
  return `; write it as an element: ${element}`;
}

function decodeChildren(node: XmlElement, position: Position, into: Record<string, unknown>): void {
  const { prefix, fieldErrors, limits } = position;
  for (const child of node.children) {
    if (hasTooManyFieldErrors(fieldErrors, limits)) return;
    if (isElement(child)) decodeChild(child, position, into);
    else if (/[^ \t\r\n]/.test(child)) {
      const hint = strayHint(position);
      fieldErrors.push({
        field: prefix.slice(0, -1) || node.name,
        ...fault("stray-text", ` ${shorten(child)}${hint}`),
      });
    }
  }
}

/** Says in which element text in a group belongs. */
function strayHint({ resource, prefix, fieldErrors, limits }: Position): string {
  if (prefix === "" || fieldErrors.length >= limits.maxHints) return "";
  const meant = findMeantField(resource, prefix.slice(0, -1));
  return meant?.startsWith(prefix) ? `, or write it in an element such as <${meant.slice(prefix.length)}>` : "";
}

function decodeChild(child: XmlElement, position: Position, into: Record<string, unknown>): void {
  const { fields, prefix, fieldErrors, limits } = position;
  const path = prefix + child.name.slice(0, 100);
  const field = Object.hasOwn(fields, child.name) ? fields[child.name] : undefined;
  if (!field) {
    const hint = fieldErrors.length < limits.maxHints ? elementHint(child, position, into) : "";
    return void fieldErrors.push({ field: path, ...fault("unknown-field", hint) });
  }
  const isGroup = field.kind === "group";
  const isPlain = child.attributes.size === 0 && !isGroup;
  const inner = isPlain ? position : { ...position, path: [...position.path, child], prefix: `${path}.` };
  if (child.attributes.size > 0) checkAttributes(inner, [], isGroup ? "send its fields empty" : undefined);
  if (Object.hasOwn(into, child.name)) fieldErrors.push({ field: path, ...fault("duplicate-field") });
  else if (!isGroup) into[child.name] = textOf(child, path, position);
  else {
    const nested: Record<string, unknown> = Object.create(null);
    decodeChildren(child, { ...inner, fields: field.fields }, nested);
    into[child.name] = nested;
  }
}

/** Suggests an element instead of an unknown one, with its groups if those are different. */
function elementHint(child: XmlElement, { resource, fields, prefix }: Position, into: object): string {
  if (prefix === "" && child.name === "_method") return `; ${methodAdvice}`;
  const members = child.children
    .slice(0, 2 * maxSearched)
    .filter(isElement)
    .slice(0, maxSearched)
    .map(({ name }) => name);
  const known = new Set(
    Object.keys(fields)
      .filter((name) => name !== "ID")
      .map(normalizeName),
  );
  if (members.some((name) => known.has(normalizeName(name))))
    return `; write its elements directly in <${prefix.split(".").at(-2) ?? resource.element}>`;
  const meant = findMeantField(resource, prefix + child.name, members.length === 0 ? undefined : members);
  const names = meant?.split(".") ?? [];
  const name = names.pop();
  if (meant === undefined || (Object.hasOwn(into, meant) && normalizeName(meant) !== normalizeName(child.name)))
    return "";
  const group = names.map((part) => `${part}.`).join("");
  const place = group === prefix ? "" : ` in <${names.join("><") || resource.element}>`;
  const oddity = describeOddity(child.name);
  return `; did you mean <${name}>${place}?${oddity === undefined ? "" : ` The name you sent ${oddity}`}`;
}

function textOf(node: XmlElement, path: string, { fieldErrors, limits }: Position): string {
  let text = "";
  for (const child of node.children) {
    if (hasTooManyFieldErrors(fieldErrors, limits)) break;
    if (!isElement(child)) text += child;
    else {
      const name = child.name.slice(0, 100);
      const hint = `, not <${name}>; leave out the tag, or write its \`<\` as \`&lt;\``;
      fieldErrors.push({ field: path, ...fault("wrong-type", hint, { expected: "string" }) });
    }
  }
  return text;
}

function agreeOnId(input: Record<string, unknown>, attribute: unknown, fieldErrors: FieldError[]): void {
  if (input.ID !== undefined) input.ID = toId(String(input.ID)) ?? input.ID;
  if (attribute === undefined) return;
  if (input.ID !== undefined && input.ID !== attribute) {
    const hint = `; the attribute says ${attribute}, the element ${shorten(String(input.ID))}`;
    fieldErrors.push({ field: "ID", ...fault("duplicate-field", hint) });
  }
  input.ID = attribute;
}

/** Otherwise, it's text. */
export function isElement(child: XmlElement | string): child is XmlElement {
  return typeof child === "object";
}

/** Shows the start of text in quotes or, if it can't be seen, names its first character. */
export function shorten(text: string): string {
  const start = text.trim().slice(0, 40);
  const [unseen] = toPlainCharacters(start) === "" ? (/[^ \t\r\n]/u.exec(text) ?? []) : [];
  return unseen === undefined ? JSON.stringify(start) : describeCharacter(unseen.codePointAt(0) as number);
}
