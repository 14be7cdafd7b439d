import type { FeedChange } from "../model/change.ts";
import { recordEtag } from "../model/etag.ts";
import type { Fields } from "../model/field.ts";
import { type StorefrontRecord, toDeclaredJson, type Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Format, Problem } from "./format.ts";
import { decodeXml } from "./xml-records.ts";

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
  feed: {
    start: ({ next, hasMore }) => `${declaration}<Changes Next="${next}" More="${hasMore}">`,
    item: changeElement,
    separator: "",
    end: () => "</Changes>",
  },
};

/**
 * Encodes a change. Of its attributes, only the double quotes of the entity tag need escaping. The others are a cursor, a time, names of this program,
 * and numbers.
 */
function changeElement(resource: Resource, { cursor, epoch, change }: FeedChange): string {
  const { revision, at, operation, id, body } = change;
  const time = new Date(at).toISOString();
  const start = `<Change Cursor="${cursor}" Revision="${revision}" Time="${time}" Operation="${operation}" Resource="${resource.path}" ID="${id}"`;
  if (operation === "delete") return `${start}/>`;
  const etag = recordEtag(resource, "xml", epoch, revision).replaceAll('"', "&quot;");
  return `${start} ETag="${etag}">${element(resource, JSON.parse(toDeclaredJson(resource, body)))}</Change>`;
}

function element(resource: Resource, record: Partial<StorefrontRecord>): string {
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

/** Encodes a problem document in XML (RFC 9457 appendix B). */
function problemDocument(problem: Problem): string {
  const { errors, ...members } = problem;
  const simple = Object.entries(members).map(([name, value]) => `<${name}>${safeText(String(value))}</${name}>`);
  const items = errors?.map(
    ({ field, detail, line, column }) =>
      `<i><field>${safeText(field)}</field><detail>${safeText(detail)}</detail>${position(line, column)}</i>`,
  );
  const list = items ? `<errors>${items.join("")}</errors>` : "";
  return `${declaration}<problem xmlns="urn:ietf:rfc:7807">${simple.join("")}${list}</problem>`;
}

function position(line: number | undefined, column: number | undefined): string {
  return line === undefined ? "" : `<line>${line}</line><column>${column}</column>`;
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
