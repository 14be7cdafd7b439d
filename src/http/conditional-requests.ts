// Conditional requests (RFC 9110 section 13) with strong entity tags: `"<version>.<representation>"` (model/etag.ts).
//
// `If-None-Match` on a read compares whole tags. Everything else compares only versions, so you can read a record as JSON and update it as XML, even after an
// upgrade. There's no `Last-Modified`, so conditions with a date have no effect (section 13.2.2).

import { ProblemError } from "../model/errors.ts";
import { etagEnding } from "../model/etag.ts";
import type { Resource } from "../model/resource.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import { type HeaderParts, joinParts } from "../wire/response.ts";

/** An entity tag in parts, which can be sent without joining them. */
type Etag = HeaderParts;

/**
 * @param version epoch and revision, in parts
 * @param format the format and the content coding, such as `json` or `xml-gzip`
 */
export function toEtag(version: HeaderParts, resource: Resource, format: string): Etag {
  return ['"', version, etagEnding(resource, format)];
}

/**
 * Evaluates the conditions of a read that would otherwise return 200, in the order of section 13.2.2. Returns whether to respond with 304 instead, because
 * `If-None-Match` is `*` or contains `etag`. The comparison is weak (section 13.1.2).
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
 * Evaluates `If-Match` of a read that would otherwise return 200 (section 13.1.1).
 * @param etag undefined for a response without one, which only `*` matches
 * @throws ProblemError `precondition-failed` if the current version isn't in `If-Match`, `bad-request` as `versionsInIfMatch`
 */
export function requireMatch(headers: HeaderFields, etag: string | undefined): void {
  const header = headers.get("if-match");
  const versions = versionsInIfMatch(header);
  if (header === null || !versions) return;
  if (etag === undefined)
    throw new ProblemError("precondition-failed", "this response has no ETag, so leave out If-Match");
  const current = versionIn(etag);
  if (versions.includes(current)) return;
  if (tagsOf(header).map(versionIn).includes(current)) throw weakTagError();
  throw new ProblemError(
    "precondition-failed",
    `this has changed since, and its ETag is now \`${etag}\`; leave out If-Match to read it`,
  );
}

/**
 * Returns the versions that `If-Match` accepts, whatever their representation; undefined for any version. Weak tags never match (section 13.1.1).
 * @param name what the client calls it, for the message
 * @throws ProblemError `bad-request` if it isn't a list of entity tags, because ignoring it would be unsafe
 */
export function versionsInIfMatch(header: string | null, name = "If-Match"): readonly string[] | undefined {
  if (header === null || header.trim() === "*") return undefined;
  requireTags(name, header);
  return tagsOf(header, true).map(versionIn);
}

/**
 * Returns the versions that `If-None-Match` on a write excludes, whatever their representation: `*` for any version, undefined for none. The comparison is
 * weak (section 13.1.2).
 * @throws ProblemError `bad-request` if it isn't a list of entity tags
 */
export function versionsInIfNoneMatch(header: string | null): readonly string[] | undefined {
  if (header === null) return undefined;
  if (header.trim() === "*") return ["*"];
  requireTags("If-None-Match", header);
  return tagsOf(header).map(versionIn);
}

export function weakTagError(): ProblemError {
  const detail =
    "If-Match has a weak tag (`W/...`), which never matches. This server's tags are strong, so something in between " +
    "weakened it, such as a proxy that compresses responses. Turn that off, or send the tag without `W/`";
  return new ProblemError("precondition-failed", detail);
}

/** Whether `header` has a weak tag. Ours are strong, so an intermediary must have weakened it. */
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

/** The next tag in a list and the comma after it (section 8.8.3). A list may have empty elements (section 5.6.1). */
const nextTag = /[ \t,]*(?:W\/)?"[^"]*"[ \t]*(?:,[ \t,]*|$)/y;

function requireTags(name: string, header: string): void {
  nextTag.lastIndex = 0;
  let end = 0;
  while (end < header.length && nextTag.test(header)) end = nextTag.lastIndex;
  if (end === header.length && end > 0) return;
  const example = '`"mhZb3kQx.7.1c9e04ab-json"`';
  throw new ProblemError(
    "bad-request",
    `${name} must be \`*\` or the unchanged \`ETag\` from a response, including the double quotes, such as ${example}; not \`${header.slice(0, 80)}\``,
  );
}
