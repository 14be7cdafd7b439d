// Conditional requests (RFC 9110 section 13) with strong entity tags: `"<version>.<representation>"` (model/etag.ts).
//
// `If-None-Match` of a read compares the whole tag. Everything else compares only the version, so that a record which was read as JSON can be updated
// as XML, also after an upgrade of the program. There is no `Last-Modified`, so conditions with a date have no effect (section 13.2.2).

import { ProblemError } from "../model/errors.ts";
import { etagEnding } from "../model/etag.ts";
import type { Resource } from "../model/resource.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import { type HeaderParts, joinParts } from "../wire/response.ts";

/** An entity tag, in parts, which need not be joined to be sent. */
type Etag = HeaderParts;

/**
 * Returns the tag of a record or list.
 * @param version epoch and revision, in parts
 * @param format the format and the content coding, such as `json` or `xml-gzip`
 */
export function toEtag(version: HeaderParts, resource: Resource, format: string): Etag {
  return ['"', version, etagEnding(resource, format)];
}

/**
 * Evaluates the conditions of a read that would be 200, in the order of section 13.2.2. Returns whether the client has the current representation, so
 * that the response is 304: `If-None-Match` contains `etag`, or is `*`. The comparison is weak (section 13.1.2).
 * @throws ProblemError as `requireMatch` does
 */
export function isNotModified(headers: HeaderFields, etag: Etag): boolean {
  if (!headers.isConditional) return false;
  const text = joinParts(etag);
  requireMatch(headers, text);
  const known = headers.get("if-none-match");
  if (known === null) return false;
  return known === text || known.trim() === "*" || tagsOf(known).includes(text);
}

/**
 * Evaluates `If-Match` of a read that would be 200 (section 13.1.1).
 * @param etag the tag of the response; undefined if it has none, which only `*` matches
 * @throws ProblemError `precondition-failed` if the current version is not in `If-Match`, `bad-request` as `versionsInIfMatch`
 */
export function requireMatch(headers: HeaderFields, etag: string | undefined): void {
  const header = headers.get("if-match");
  const versions = versionsInIfMatch(header);
  if (header === null || !versions) return;
  if (etag === undefined)
    throw new ProblemError("precondition-failed", "this has no ETag that If-Match could match; leave out If-Match");
  const current = versionIn(etag);
  if (versions.includes(current)) return;
  if (tagsOf(header).map(versionIn).includes(current)) throw weakTagError();
  throw new ProblemError(
    "precondition-failed",
    `this has changed since: its ETag is now \`${etag}\`; leave out If-Match to read it`,
  );
}

/**
 * Returns the versions that `If-Match` accepts; undefined for every version. Representations are ignored. A weak tag never matches (section 13.1.1).
 * @param name what the client calls it, for the message
 * @throws ProblemError `bad-request` if the header is not a list of entity tags, because it would be unsafe to ignore it
 */
export function versionsInIfMatch(header: string | null, name = "If-Match"): readonly string[] | undefined {
  if (header === null || header.trim() === "*") return undefined;
  requireTags(name, header);
  return tagsOf(header, true).map(versionIn);
}

/**
 * Returns the versions that `If-None-Match` of a write excludes: `*` for every version, undefined for none. Representations are ignored, and the
 * comparison is weak (section 13.1.2).
 * @throws ProblemError `bad-request` if the header is not a list of entity tags
 */
export function versionsInIfNoneMatch(header: string | null): readonly string[] | undefined {
  if (header === null) return undefined;
  if (header.trim() === "*") return ["*"];
  requireTags("If-None-Match", header);
  return tagsOf(header).map(versionIn);
}

export function weakTagError(): ProblemError {
  const detail =
    "If-Match has a weak tag (`W/...`), which never matches. The tags of this server are strong, so something on the way " +
    "weakened it, such as a proxy that compresses: turn that off, or send the tag without `W/`";
  return new ProblemError("precondition-failed", detail);
}

/** Whether a tag in `header` is weak. The tags of this server are strong, so an intermediary has weakened it. */
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

/** The next tag of a list and the comma after it (section 8.8.3). A list may have empty elements (section 5.6.1). */
const nextTag = /[ \t,]*(?:W\/)?"[^"]*"[ \t]*(?:,[ \t,]*|$)/y;

function requireTags(name: string, header: string): void {
  nextTag.lastIndex = 0;
  let end = 0;
  while (end < header.length && nextTag.test(header)) end = nextTag.lastIndex;
  if (end === header.length && end > 0) return;
  const example = '`"mhZb3kQx.7.1c9e04ab-json"`';
  throw new ProblemError(
    "bad-request",
    `${name} must be \`*\` or the unchanged \`ETag\` of a response, with its double quotes, such as ${example}; not \`${header.slice(0, 80)}\``,
  );
}
