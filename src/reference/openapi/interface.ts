import type { Encoding } from "../../model/encoding.ts";
import type { Code, Fault } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { Schema } from "../json-schema.ts";

/** What the document tells of a format: its media types, and how it writes what stands in an example. */
export interface WireFormat extends Encoding {
  readonly contentType: string;
  readonly problemType: string;
  problem(problem: ProblemExample): string;
}

/** A problem document (RFC 9457) as the document shows it. */
export interface ProblemExample {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly errors?: readonly Fault[];
}

/** What the document is made from. */
export interface Interface {
  /** Those that are served. */
  readonly resources: readonly Resource[];
  readonly formats: readonly WireFormat[];
  readonly version: string;
  statusOf(code: Code): number;
}

/** A component's name in a format: JSON is the one that goes without saying. */
export function named(name: string, { name: format }: Encoding): string {
  return format === "json" ? name : name + format[0]?.toUpperCase() + format.slice(1);
}

/** The media type without its charset, as the document keys contents by it. */
export function mediaType(contentType: string): string {
  return contentType.split(";")[0] as string;
}

export function ref(kind: "schemas" | "headers" | "parameters" | "responses", name: string): Schema {
  return { $ref: `#/components/${kind}/${name}` };
}
