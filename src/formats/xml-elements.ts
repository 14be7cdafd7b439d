// Encodes records and problem documents as XML elements.

import { type FieldError, faultParameters } from "../model/errors.ts";
import type { Fields } from "../model/field.ts";
import type { StorefrontRecord, Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Problem } from "./format.ts";

/** The XML declaration, which begins each document. */
export const declaration = '<?xml version="1.0" encoding="utf-8"?>\n';

/** Encodes a record, or some of its fields. */
export function recordElement(resource: Resource, record: Partial<StorefrontRecord>): string {
  return `<${resource.element} ID="${record.ID}">${fieldElements(resource.fields, record)}</${resource.element}>`;
}

/** Returns the elements of those fields that are in `values`. */
function fieldElements(fields: Fields, values: Values | Partial<StorefrontRecord>): string {
  let out = "";
  for (const name in fields) {
    const value = values[name];
    const field = fields[name];
    if (typeof value === "string") out += `<${name}>${escapeText(value)}</${name}>`;
    else if (field?.kind === "group" && typeof value === "object") {
      out += `<${name}>${fieldElements(field.fields, value)}</${name}>`;
    }
  }
  return out;
}

const special = /[&<>\r]/;

/** Escapes the text of an element. CR is escaped too, because a parser would turn it into LF (XML 1.0 section 2.11). */
export function escapeText(text: string): string {
  return special.test(text)
    ? text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\r", "&#13;")
    : text;
}

/** Encodes a problem document in XML (RFC 9457 appendix B), without the XML declaration. */
export function problemElement(problem: Problem): string {
  const { errors, ...members } = problem;
  const simple = Object.entries(members).map(([name, value]) => `<${name}>${safeText(String(value))}</${name}>`);
  const list = errors ? `<errors>${errors.map(errorElement).join("")}</errors>` : "";
  return `<problem xmlns="urn:ietf:rfc:7807">${simple.join("")}${list}</problem>`;
}

/** Members of an error in the order of the XML Schema. Those that clients have known for longest come first. */
const errorMembers = ["operation", "field", "detail", "line", "column", "code", ...faultParameters] as const;

function errorElement(error: FieldError): string {
  const members = errorMembers.map((name) => {
    const value = error[name];
    if (value === undefined) return "";
    const items = Array.isArray(value) ? value.map((item) => `<i>${safeText(item)}</i>`) : [safeText(String(value))];
    return `<${name}>${items.join("")}</${name}>`;
  });
  return `<i>${members.join("")}</i>`;
}

/** Escapes a text, and replaces the characters that XML cannot contain by U+FFFD. Problem documents quote texts of clients, which may have them. */
function safeText(text: string): string {
  return escapeText(withXmlCharacters(text));
}

/** Converts `text` for an XML comment, which must not contain two hyphens in sequence or end in a hyphen (XML 1.0 section 2.5). */
export function escapeXmlComment(text: string): string {
  return withXmlCharacters(text).replace(/-(?=-|$)/g, "- ");
}

function withXmlCharacters(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
  return text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

/** Escapes the double quotes of an entity tag for an attribute. Entity tags of this program have no other character that needs escaping. */
export function escapeEtag(etag: string): string {
  return etag.replaceAll('"', "&quot;");
}
