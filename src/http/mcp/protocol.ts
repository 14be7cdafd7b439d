// Messages of the Model Context Protocol (modelcontextprotocol.io): JSON-RPC 2.0, and which revision of the protocol a message uses.
//
// Since revision 2026-07-28, each request names its revision in `_meta`, and headers repeat part of the body. Before that, clients started with `initialize`.
// We serve both without sessions: nothing is remembered between requests.

import { excessIn } from "../../formats/json-items.ts";
import { explainSyntaxError } from "../../formats/json-parser.ts";
import { maxValues } from "../../formats/syntax-errors.ts";
import { fromUtf8 } from "../../formats/text-encoding.ts";
import { findNearest } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { describeNonObject, isJsonObject } from "../../model/field.ts";
import type { HeaderFields } from "../../wire/header-fields.ts";
import type { BodyBytes } from "../../wire/request-body.ts";

const modernVersion = "2026-07-28";
/** Newest first. */
const legacyVersions: readonly string[] = ["2025-11-25", "2025-06-18"];
/** Newest first. */
export const supportedVersions: readonly string[] = [modernVersion, ...legacyVersions];

/** From JSON-RPC 2.0 (section 5.1) and the Model Context Protocol. */
const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

/** An error in the message itself, for the program that sent it. Tools report errors as results instead, for the agent. */
export class RpcError extends Error {
  readonly code: number;
  /** The response's HTTP status. */
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
export type Members = Readonly<Record<string, unknown>>;

export interface Message {
  /** Undefined for a notification, which gets no response. */
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: Members;
}

/** A batch operation takes eight levels, and clients may add more in `_meta`. */
const maxMessageDepth = 64;

/** Enough for 1,000 operations that set every field of a location, and then some. */
const maxMessageValues = 32 * maxValues;

/** Parses any JSON value; `toMessage` checks it. @throws RpcError `parseError` if it isn't JSON, `invalidRequest` if it's too complex */
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

/** @param text the body, if it's UTF-8, so that our own parser can explain what's wrong with it */
function notJsonError(error: unknown, text?: string): RpcError {
  try {
    if (text !== undefined) explainSyntaxError(text, maxMessageDepth);
  } catch (explained) {
    if (explained instanceof ProblemError) return new RpcError("parseError", explained.message);
  }
  if (error instanceof ProblemError) return new RpcError("parseError", error.message);
  return new RpcError("parseError", `the body is not JSON: ${error instanceof Error ? error.message : error}`);
}

/** Finds the ID even in a faulty message, for the response; undefined if it has no valid one. */
export function findId(value: unknown): RpcId | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id } = value;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as RpcId) : undefined;
}

/** @throws RpcError `invalidRequest` or `invalidParams` */
export function toMessage(value: unknown): Message {
  if (Array.isArray(value)) throw new RpcError("invalidRequest", "send each message in its own request, not in a list");
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
 * Whether a request uses revision 2026-07-28 rather than an earlier one. Checks what that revision requires of headers and `_meta`.
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

/** For messages that get no response. @throws RpcError `unsupportedVersion` if the header names an unsupported revision */
export function requireSupportedVersion(headers: HeaderFields): void {
  const header = headers.get("mcp-protocol-version");
  if (header !== null && !supportedVersions.includes(header)) throw unsupportedVersionError(header);
}

/** Returns the revision to use after `initialize`: the requested one if we support it. @throws RpcError `invalidParams` */
export function chooseLegacyVersion(requested: unknown): string {
  if (typeof requested !== "string")
    throw new RpcError("invalidParams", "`protocolVersion` must be a string", { status: 200 });
  return legacyVersions.find((version) => version === requested) ?? (legacyVersions[0] as string);
}

/** @param known the revision's methods @param status the HTTP status of the response */
export function methodNotFoundError(method: string, known: readonly string[], status: number): RpcError {
  const meant = findNearest(method, known);
  const hint = meant === undefined ? `the methods are ${known.join(", ")}` : `did you mean ${meant}?`;
  return new RpcError("methodNotFound", `unknown method \`${method.slice(0, 100)}\`; ${hint}`, { status });
}

function unsupportedVersionError(requested: string): RpcError {
  const data = { supported: supportedVersions, requested: requested.slice(0, 100) };
  return new RpcError("unsupportedVersion", `this server supports revisions ${supportedVersions.join(", ")}`, {
    data,
  });
}

function requireHeader(headers: HeaderFields, name: string, inBody: unknown): void {
  const sent = headers.get(name.toLowerCase());
  if (sent === null) throw new RpcError("headerMismatch", `the header ${name} is missing`);
  if (decodeHeader(sent) !== inBody) throw new RpcError("headerMismatch", `the header ${name} differs from the body`);
}

/** Clients send values that a header can't contain as `=?base64?...?=`. */
function decodeHeader(sent: string): string {
  const [, encoded] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(sent) ?? [];
  return encoded === undefined ? sent : Buffer.from(encoded, "base64").toString();
}
