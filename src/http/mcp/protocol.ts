// The messages of the Model Context Protocol (modelcontextprotocol.io): JSON-RPC 2.0, and which revision of the protocol a message speaks.
//
// Since revision 2026-07-28 each request names its revision in `_meta`, and header fields repeat a part of the body. Before it, clients began with
// `initialize`. Both are served without a session: nothing is remembered between two requests.

import { excessIn } from "../../formats/json-items.ts";
import { explainSyntaxError } from "../../formats/json-parser.ts";
import { maxValues } from "../../formats/syntax-errors.ts";
import { fromUtf8 } from "../../formats/text-encoding.ts";
import { findNearest } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { describeNonObject, isJsonObject } from "../../model/field.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { BodyBytes } from "../../wire/request-body.ts";

/** The revision in which each request names its revision. */
const modernVersion = "2026-07-28";
/** The revisions before it, the latest first. */
const legacyVersions: readonly string[] = ["2025-11-25", "2025-06-18"];
/** All supported revisions, the latest first. */
export const supportedVersions: readonly string[] = [modernVersion, ...legacyVersions];

/** The error codes of JSON-RPC 2.0 (section 5.1) and of the Model Context Protocol. */
const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

/** An error of a message itself, for the program that sent it. An error of a tool is a result instead, for the agent. */
export class RpcError extends Error {
  readonly code: number;
  /** The HTTP status of the response. */
  readonly status: number;
  readonly data: unknown;

  constructor(
    code: keyof typeof rpcCodes,
    message: string,
    { status = 400, data }: { status?: number; data?: unknown } = {},
  ) {
    super(message);
    this.name = "RpcError";
    this.code = rpcCodes[code];
    this.status = status;
    this.data = data;
  }
}

export type RpcId = string | number;
/** The members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** A request or a notification. */
export interface Message {
  /** Undefined for a notification, which gets no response. */
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: Members;
}

/** Maximum nesting of objects and lists. A batch operation takes eight levels, and clients may add more in `_meta`. */
const maxMessageDepth = 64;

/** Maximum values in a message: 1,000 operations that set every field of a location, and some more. */
const maxMessageValues = 32 * maxValues;

/** Parses a body: any JSON value, whose form `toMessage` checks. @throws RpcError `parseError` if it isn't JSON, `invalidRequest` if it's too complex */
export function parseMessageBody(body: BodyBytes): unknown {
  let text: string;
  try {
    text = fromUtf8(body.view);
  } catch (error) {
    throw notJsonError(error);
  }
  const excess = excessIn(text, { maxDepth: maxMessageDepth, maxValues: maxMessageValues });
  if (excess !== undefined) throw new RpcError("invalidRequest", `the message ${excess}`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJsonError(error, text);
  }
}

/** @param text the body, if it's UTF-8: our own parser explains what's wrong in it */
function notJsonError(error: unknown, text?: string): RpcError {
  try {
    if (text !== undefined) explainSyntaxError(text, maxMessageDepth);
  } catch (explained) {
    if (explained instanceof ProblemError) return new RpcError("parseError", explained.message);
  }
  if (error instanceof ProblemError) return new RpcError("parseError", error.message);
  return new RpcError("parseError", `the body is not JSON: ${error instanceof Error ? error.message : error}`);
}

/** Returns the ID of a JSON-RPC message, for the response to a faulty message; undefined if it has no valid one. */
export function findId(value: unknown): RpcId | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id } = value;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as RpcId) : undefined;
}

/** Checks the form of a message. @param value the JSON value of a body @throws RpcError `invalidRequest` or `invalidParams` */
export function toMessage(value: unknown): Message {
  if (Array.isArray(value))
    throw new RpcError("invalidRequest", "send each message with a request of its own, not a list");
  if (!isJsonObject(value) || value.jsonrpc !== "2.0") {
    throw new RpcError("invalidRequest", 'a message is a JSON object with "jsonrpc": "2.0"');
  }
  const id = findId(value);
  if (id === undefined && value.id !== undefined)
    throw new RpcError("invalidRequest", "`id` must be a string or a whole number");
  const { method } = value;
  const params = value.params ?? {};
  if (typeof method !== "string")
    throw new RpcError("invalidRequest", "`method` must be a string; this server sends no requests");
  if (!isJsonObject(params))
    throw new RpcError("invalidParams", `\`params\` must be an object, not ${describeNonObject(params)}`);
  return { id, method, params };
}

const metaPrefix = "io.modelcontextprotocol/";

/**
 * Whether a request is of revision 2026-07-28; otherwise it is of an earlier one. Checks what each revision demands of header fields and `_meta`.
 * @throws RpcError `headerMismatch`, `unsupportedVersion` or `invalidParams`, as the specification says
 */
export function isModern(message: Message, headers: HeaderFields): boolean {
  const meta = isJsonObject(message.params._meta) ? message.params._meta : {};
  const version = meta[`${metaPrefix}protocolVersion`];
  const header = headers.get("mcp-protocol-version");
  if (version === undefined && header !== modernVersion) {
    if (header !== null && !legacyVersions.includes(header)) throw unsupportedVersionError(header);
    return false;
  }
  if (typeof version !== "string")
    throw new RpcError("invalidParams", `\`_meta\` lacks \`${metaPrefix}protocolVersion\``);
  requireHeader(headers, "MCP-Protocol-Version", version);
  if (legacyVersions.includes(version)) return false;
  if (version !== modernVersion) throw unsupportedVersionError(version);
  if (!isJsonObject(meta[`${metaPrefix}clientCapabilities`])) {
    throw new RpcError("invalidParams", `\`_meta\` lacks \`${metaPrefix}clientCapabilities\``);
  }
  requireHeader(headers, "Mcp-Method", message.method);
  if (message.method === "tools/call") requireHeader(headers, "Mcp-Name", message.params.name);
  return true;
}

/** Requires a revision in the header field that is supported, in a message without a response. @throws RpcError `unsupportedVersion` */
export function requireSupportedVersion(headers: HeaderFields): void {
  const header = headers.get("mcp-protocol-version");
  if (header !== null && !supportedVersions.includes(header)) throw unsupportedVersionError(header);
}

/** Returns the revision in which a client continues after `initialize`: `asked` if it is supported. @throws RpcError `invalidParams` */
export function chooseLegacyVersion(asked: unknown): string {
  if (typeof asked !== "string")
    throw new RpcError("invalidParams", "`protocolVersion` must be a string", { status: 200 });
  return legacyVersions.find((version) => version === asked) ?? (legacyVersions[0] as string);
}

/** Returns the error for an unknown method. @param known the methods of the revision @param status the HTTP status of the response */
export function methodNotFoundError(method: string, known: readonly string[], status: number): RpcError {
  const meant = findNearest(method, known);
  const hint = meant === undefined ? `there is ${known.join(", ")}` : `did you mean ${meant}?`;
  return new RpcError("methodNotFound", `there is no method \`${method.slice(0, 100)}\`; ${hint}`, { status });
}

function unsupportedVersionError(requested: string): RpcError {
  const data = { supported: supportedVersions, requested: requested.slice(0, 100) };
  return new RpcError("unsupportedVersion", `this server supports the revisions ${supportedVersions.join(", ")}`, {
    data,
  });
}

function requireHeader(headers: HeaderFields, name: string, inBody: unknown): void {
  const sent = headers.get(name.toLowerCase());
  if (sent === null) throw new RpcError("headerMismatch", `the header ${name} is missing`);
  if (decodeHeader(sent) !== inBody) throw new RpcError("headerMismatch", `the header ${name} differs from the body`);
}

/** Decodes a value that a header field cannot have as it is. Clients send it as `=?base64?...?=`. */
function decodeHeader(sent: string): string {
  const [, encoded] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(sent) ?? [];
  return encoded === undefined ? sent : Buffer.from(encoded, "base64").toString();
}
