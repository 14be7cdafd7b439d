import { XML } from "bun";
import { type Fault, messageOf, Refusal } from "../model/errors.ts";
import type { Field, Fields } from "../model/field.ts";
import { nearest } from "../model/nearest.ts";
import { type StorefrontRecord, toId, type Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Decoded, Format } from "./format.ts";
import type { Problem } from "./problem.ts";
import { fromUtf8 } from "./utf8.ts";

const declaration = '<?xml version="1.0" encoding="utf-8"?>\n';

export const xml: Format = {
  name: "xml",
  contentType: "application/xml; charset=utf-8",
  problemType: "application/problem+xml",
  decode: (resource, body) => decodeRecord(resource, parseXml(body)),
  item: (resource, stored) => element(resource, JSON.parse(stored)),
  part: element,
  documentStart: declaration,
  listStart: `${declaration}<Results>`,
  separator: "",
  listEnd: "</Results>",
  problem: problemDocument,
};

/**
 * Parses a document by the rules of contract section 5.
 * @throws Refusal `bad-request` when it is malformed or has a DOCTYPE, `unsupported-media-type` when it is not UTF-8
 */
export function parseXml(body: Uint8Array): XML.Node {
  refuseOtherEncodings(body);
  const text = fromUtf8(body);
  if (text.trim() === "") throw new Refusal("bad-request", "the body is empty; an XML document is needed");
  if (hasDoctype(text)) throw new Refusal("bad-request", "a DOCTYPE is not allowed");
  try {
    return XML.parse(text, { compact: false });
  } catch (error) {
    if (error instanceof RangeError) throw new Refusal("bad-request", "the body is nested too deeply");
    const reason = messageOf(error)
      .replace(/^XML Parse error: /, "")
      .slice(0, 200);
    throw new Refusal("bad-request", `the body is not well-formed XML: ${reason}`);
  }
}

/** A record from its element. */
export function decodeRecord(resource: Resource, root: XML.Node): Decoded {
  if (root.name !== resource.element) {
    throw new Refusal(
      "bad-request",
      `the root element must be <${resource.element}>, not <${root.name.slice(0, 100)}>`,
    );
  }
  const faults: Fault[] = [];
  const input: Record<string, unknown> = Object.create(null);
  let attribute: unknown;
  readAttributes(root, "", faults, (id) => {
    attribute = toId(id) ?? id;
  });
  readChildren(root, { ID: idElement, ...resource.fields }, "", faults, input);
  agreeOnId(input, attribute, faults);
  return { input, faults };
}

/** The records of a list document: the children of `<Results>`. */
export function decodeList(resource: Resource, root: XML.Node): Decoded[] {
  if (root.name !== "Results")
    throw new Refusal("bad-request", `the root element must be <Results>, not <${root.name}>`);
  return root.children.filter(isElement).map((child) => decodeRecord(resource, child));
}

const idElement: Field = { kind: "text", max: 16, required: false, description: "", example: "" };

const blanks = /[ \t\r\n]*/y;

/**
 * Whether `text` has a DOCTYPE. It can only stand before the root element (XML 1.0 section 2.8), after comments and
 * processing instructions. They are passed over one by one: a regular expression gives up on a long one in silence.
 */
function hasDoctype(text: string): boolean {
  let at = 0;
  while (true) {
    blanks.lastIndex = at;
    blanks.test(text);
    at = blanks.lastIndex;
    const end = text.startsWith("<!--", at) ? "-->" : text.startsWith("<?", at) ? "?>" : undefined;
    if (end === undefined) return text.startsWith("<!DOCTYPE", at);
    const closed = text.indexOf(end, at + (end === "-->" ? 4 : 2));
    if (closed === -1) return false;
    at = closed + end.length;
  }
}

function refuseOtherEncodings(body: Uint8Array): void {
  if ((body[0] === 0xff && body[1] === 0xfe) || (body[0] === 0xfe && body[1] === 0xff)) {
    throw new Refusal("unsupported-media-type", "the body is UTF-16; send UTF-8");
  }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const start = bytes.toString("latin1", 0, Math.max(0, bytes.indexOf("?>")));
  const declared = /^(?:\xef\xbb\xbf)?<\?xml\s[^>]*?encoding\s*=\s*["']([^"']*)["']/.exec(start)?.[1];
  if (declared !== undefined && declared.toLowerCase() !== "utf-8") {
    throw new Refusal(
      "unsupported-media-type",
      `the document declares the encoding ${declared.slice(0, 40)}; send UTF-8`,
    );
  }
}

/** `xmlns:x="..."` declares a prefix and says nothing of the record; serialisers put it there unasked. */
function readAttributes(node: XML.Node, path: string, faults: Fault[], onId?: (id: string) => void): void {
  for (const [name, value] of Object.entries(node.attributes)) {
    if (name === "ID" && onId) onId(value);
    else if (!name.startsWith("xmlns:")) faults.push({ field: path + name.slice(0, 100), detail: "no such attribute" });
  }
}

function readChildren(node: XML.Node, fields: Fields, path: string, faults: Fault[], into: Record<string, unknown>) {
  for (const child of node.children) {
    if (typeof child === "string") {
      if (/[^ \t\r\n]/.test(child))
        faults.push({ field: path.slice(0, -1) || node.name, detail: `stray text: ${shorten(child)}` });
    } else if (isElement(child)) readChild(child, fields, path, faults, into);
  }
}

function readChild(child: XML.Node, fields: Fields, above: string, faults: Fault[], into: Record<string, unknown>) {
  const path = above + child.name.slice(0, 100);
  const field = Object.hasOwn(fields, child.name) ? fields[child.name] : undefined;
  if (!field) {
    const meant = nearest(child.name, Object.keys(fields));
    faults.push({ field: path, detail: `no such element${meant ? `; did you mean <${meant}>?` : ""}` });
    return;
  }
  readAttributes(child, `${path}.`, faults);
  if (Object.hasOwn(into, child.name)) {
    faults.push({ field: path, detail: "appears more than once" });
  } else if (field.kind === "text") into[child.name] = textOf(child, path, faults);
  else {
    const nested: Record<string, unknown> = Object.create(null);
    readChildren(child, field.fields, `${path}.`, faults, nested);
    into[child.name] = nested;
  }
}

function textOf(node: XML.Node, path: string, faults: Fault[]): string {
  let text = "";
  for (const child of node.children) {
    if (typeof child === "string") text += child;
    else if (isElement(child))
      faults.push({ field: path, detail: `must hold text, not <${child.name.slice(0, 100)}>` });
  }
  return text;
}

function agreeOnId(input: Record<string, unknown>, attribute: unknown, faults: Fault[]): void {
  if (input.ID !== undefined) input.ID = toId(String(input.ID)) ?? input.ID;
  if (attribute === undefined) return;
  if (input.ID !== undefined && input.ID !== attribute) {
    faults.push({
      field: "ID",
      detail: `the attribute says ${attribute} and the element ${shorten(String(input.ID))}`,
    });
  }
  input.ID = attribute;
}

function isElement(child: XML.Node["children"][number]): child is XML.Node {
  return typeof child === "object" && "name" in child;
}

function shorten(text: string): string {
  return JSON.stringify(text.trim().slice(0, 40));
}

function element(resource: Resource, record: Partial<StorefrontRecord>): string {
  return `<${resource.element} ID="${record.ID}">${fieldElements(resource.fields, record as Values)}</${resource.element}>`;
}

function fieldElements(fields: Fields, values: Values): string {
  let out = "";
  for (const name in fields) {
    const value = values[name];
    if (value === undefined) continue;
    const field = fields[name];
    const content =
      field?.kind === "group" ? fieldElements(field.fields, value as Values) : escapeText(value as string);
    out += `<${name}>${content}</${name}>`;
  }
  return out;
}

const special = /[&<>\r]/;
const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;" };

/** Text that comes back as it was: a parser would turn a bare CR into LF (XML 1.0 section 2.11). */
export function escapeText(text: string): string {
  return special.test(text) ? text.replace(/[&<>\r]/g, (character) => escapes[character] as string) : text;
}

/** RFC 9457 appendix B. */
function problemDocument(problem: Problem): string {
  const { errors, ...members } = problem;
  const simple = Object.entries(members).map(([name, value]) => `<${name}>${safeText(String(value))}</${name}>`);
  const items = errors?.map(
    ({ field, detail }) => `<i><field>${safeText(field)}</field><detail>${safeText(detail)}</detail></i>`,
  );
  const list = items ? `<errors>${items.join("")}</errors>` : "";
  return `${declaration}<problem xmlns="urn:ietf:rfc:7807">${simple.join("")}${list}</problem>`;
}

/** A problem may quote what a client sent, so a character that XML cannot carry is shown as U+FFFD. */
function safeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  return escapeText(text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd"));
}
