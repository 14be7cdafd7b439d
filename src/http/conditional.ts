// Conditional requests (RFC 9110 section 13) over strong entity tags: `"<version>.<representation>"`.

import type { Resource } from "../model/resource.ts";

/**
 * The tag of a record or list at `version`, in one representation: a format such as `json` or `xml-gzip`, of what the
 * resource's records look like in this version of the program.
 */
export function toEtag(version: string, { shape }: Resource, format: string): string {
  return `"${version}.${shape.digest}-${format}"`;
}

/** Whether `If-None-Match` names `etag`, or anything; compared weakly (section 13.1.2). */
export function noneMatchHits(header: string, etag: string): boolean {
  if (header === etag) return true;
  return header.trim() === "*" || tagsOf(header).includes(etag);
}

/**
 * The versions that `If-Match` accepts, whichever the representation: a record read as JSON may be updated as XML, and one
 * read from another version of the program through this one. Undefined when any will do. A weak tag matches nothing
 * (section 13.1.1).
 */
export function versionsOf(header: string | null): readonly string[] | undefined {
  if (header === null || header.trim() === "*") return undefined;
  return tagsOf(header, true).map(versionIn);
}

/**
 * The versions that `If-None-Match` on a write rules out, `*` for every one; whichever the representation, and compared
 * weakly (section 13.1.2).
 */
export function versionsBut(header: string | null): readonly string[] | undefined {
  if (header === null) return undefined;
  return header.trim() === "*" ? ["*"] : tagsOf(header).map(versionIn);
}

function versionIn(tag: string): string {
  return tag.slice(1, tag.lastIndexOf("."));
}

function tagsOf(header: string, strongOnly = false): string[] {
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return strongOnly ? tags.filter((tag) => !tag.startsWith("W/")) : tags.map((tag) => tag.replace(/^W\//, ""));
}
