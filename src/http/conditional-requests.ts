// Conditional requests (RFC 9110 section 13) over strong entity tags: `"<version>.<representation>"`.

import { Refusal } from "../model/errors.ts";
import type { Resource, Shape } from "../model/resource.ts";
import type { RequestHeaders } from "../wire/request-header.ts";
import { type HeaderParts, joinParts } from "../wire/response.ts";

/** An entity tag. */
type Etag = HeaderParts;

/**
 * The tag of a record or list at `version`. The representation is the digest of the resource's declaration and a format.
 * @param version in parts
 * @param format such as `json` or `xml-gzip`
 */
export function toEtag(version: HeaderParts, { shape }: Resource, format: string): Etag {
  return ['"', version, endingOf(shape, format)];
}

/** The tags' ends after the version, by format. */
const endings = new WeakMap<Shape, Map<string, string>>();

function endingOf(shape: Shape, format: string): string {
  const ofShape = endings.get(shape) ?? new Map<string, string>();
  let ending = ofShape.get(format);
  if (ending === undefined) {
    ending = `.${shape.digest}-${format}"`;
    endings.set(shape, ofShape.set(format, ending));
  }
  return ending;
}

/** Whether the client has what `etag` identifies: `If-None-Match` contains it, or is `*`. The comparison is weak (section 13.1.2). */
export function isKnown(headers: RequestHeaders, etag: Etag): boolean {
  const known = headers.get("if-none-match");
  if (known === null) return false;
  const text = joinParts(etag);
  return known === text || known.trim() === "*" || tagsOf(known).includes(text);
}

/**
 * The versions that `If-Match` accepts; undefined for every version. Representations do not matter: a record that was read as JSON may
 * be updated as XML, and one that was read from another version of the program through this one. A weak tag matches nothing (section
 * 13.1.1).
 * @throws Refusal `bad-request` when it is not a list of entity tags. To ignore it would be unsafe
 */
export function versionsOf(header: string | null): readonly string[] | undefined {
  if (header === null || header.trim() === "*") return undefined;
  requireTags("If-Match", header);
  return tagsOf(header, true).map(versionIn);
}

/**
 * The versions that `If-None-Match` of a write excludes, `*` for every version; undefined for none. Representations do not matter, and
 * the comparison is weak (section 13.1.2).
 * @throws Refusal `bad-request` when it is not a list of entity tags
 */
export function versionsBut(header: string | null): readonly string[] | undefined {
  if (header === null) return undefined;
  if (header.trim() === "*") return ["*"];
  requireTags("If-None-Match", header);
  return tagsOf(header).map(versionIn);
}

/** Whether one of the tags in `header` is weak. The server's are strong, so an intermediary weakened it. */
export function hasWeakTag(header: string | null): boolean {
  return header !== null && tagsOf(header, true).length < tagsOf(header).length;
}

function versionIn(tag: string): string {
  return tag.slice(1, tag.lastIndexOf("."));
}

function tagsOf(header: string, strongOnly = false): string[] {
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return strongOnly ? tags.filter((tag) => !tag.startsWith("W/")) : tags.map((tag) => tag.replace(/^W\//, ""));
}

/** A tag and the comma after it (section 8.8.3). Elements of a list may be empty (section 5.6.1). */
const nextTag = /[ \t,]*(?:W\/)?"[^"]*"[ \t]*(?:,[ \t,]*|$)/y;

function requireTags(name: string, header: string): void {
  nextTag.lastIndex = 0;
  let end = 0;
  while (end < header.length && nextTag.test(header)) end = nextTag.lastIndex;
  if (end === header.length && end > 0) return;
  const example = '`"x1.7.json"`';
  throw new Refusal(
    "bad-request",
    `${name} must be \`*\` or the unchanged \`ETag\` of a response, with its double quotes, such as ${example}; not \`${header.slice(0, 80)}\``,
  );
}
