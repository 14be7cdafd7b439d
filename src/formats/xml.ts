import type { Fields } from "../model/field.ts";
import type { StorefrontRecord, Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Format } from "./format.ts";
import type { Problem } from "./problem.ts";
import { decodeXml } from "./xml-record.ts";

const declaration = '<?xml version="1.0" encoding="utf-8"?>\n';

export const xml: Format = {
  name: "xml",
  contentType: "application/xml; charset=utf-8",
  problemType: "application/problem+xml",
  decode: decodeXml,
  item: (resource, stored) => element(resource, JSON.parse(stored)),
  part: element,
  documentStart: declaration,
  listStart: `${declaration}<Results>`,
  separator: "",
  listEnd: "</Results>",
  problem: problemDocument,
};

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
    ({ field, detail, line, column }) =>
      `<i><field>${safeText(field)}</field><detail>${safeText(detail)}</detail>${place(line, column)}</i>`,
  );
  const list = items ? `<errors>${items.join("")}</errors>` : "";
  return `${declaration}<problem xmlns="urn:ietf:rfc:7807">${simple.join("")}${list}</problem>`;
}

function place(line: number | undefined, column: number | undefined): string {
  return line === undefined ? "" : `<line>${line}</line><column>${column}</column>`;
}

/** A problem may quote what a client sent, so a character that XML cannot carry is shown as U+FFFD. */
function safeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  return escapeText(text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd"));
}
