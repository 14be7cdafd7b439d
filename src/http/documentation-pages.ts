// Serves the pages and documents of `reference/`, which describe the interface. documentation.ts loads this file after the start.

import { statusOf } from "../formats/format.ts";
import { type MaybePromise, whenResolved } from "../lib/maybe-promise.ts";
import { redactKeys } from "../model/api-key.ts";
import { type ProblemError, problemTitles } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { readClientPackage, unversionedClientPath } from "../reference/client-package.ts";
import {
  type Download,
  filesWithAddress,
  missingPathDetail,
  type ServedFile,
  servedFiles,
} from "../reference/documents.ts";
import { isOpenapiPath, openapiKey } from "../reference/openapi/variants.ts";
import { homePage, problemPage } from "../reference/pages/home.ts";
import { htmlType, pagePolicy } from "../reference/pages/layout.ts";
import { TextInParts, TextPart } from "../store/memory/text-in-parts.ts";
import type { WireResponse } from "../wire/response.ts";
import type { ResponseBody } from "../wire/response-body.ts";
import { StaticFile, shortDigest } from "./common/static-file.ts";
import { type ContentCoding, chooseCoding, compressList, wholeEncoders } from "./compression.ts";
import { isNotModified } from "./conditional-requests.ts";
import type { RequestContext } from "./request-context.ts";
import type { RequestTarget } from "./request-target.ts";
import { toCacheableResponse, toResponse } from "./responses.ts";

type Respond = (context: RequestContext) => MaybePromise<WireResponse>;

/** The documentation. */
interface Pages {
  /**
   * Returns the function that responds with the page or document that a request selects; undefined for a path that does not exist.
   * @throws ProblemError `bad-request` if a parameter selects no variant of a document
   */
  readonly find: (target: Pick<RequestTarget, "path" | "query">) => Respond | undefined;
  /** Returns the detail of the problem for a path that is not there. */
  readonly missingDetail: (path: string) => string;
}

/** Creates the documentation. @param addressOf returns the URL by which the client reached the server */
export async function createPages(
  resources: readonly Resource[],
  addressOf: (context: RequestContext) => string,
): Promise<Pages> {
  const client = await readClientPackage();
  const files = [...servedFiles(resources, client)].map(([path, file]): [string, Respond] => [path, serveFile(file)]);
  const clientPath = client?.path ?? unversionedClientPath;
  const home = (address: string) => ({ type: htmlType, text: homePage(resources, address, clientPath) });
  const made = [["/", home] as const, ...filesWithAddress(resources, client)].map(([path, make]): [string, Respond] => [
    path,
    (context) => serveMade(context, make(addressOf(context)), "X-Forwarded-Host, X-Forwarded-Proto"),
  ]);
  const responders = new Map([...made, ...files]);
  return {
    find: ({ path, query }) => responders.get(isOpenapiPath(path) ? openapiKey(path, query) : path),
    missingDetail: (path) => missingPathDetail(path, client),
  };
}

/** Makes a response with a problem as an HTML page, for browsers. */
export function toProblemPage(context: RequestContext, problem: ProblemError): WireResponse {
  const body = problemPage({
    status: statusOf(problem.code),
    title: problemTitles[problem.code],
    detail: redactKeys(problem.message),
    instance: String(context.id),
    type: `/docs/problems/${problem.code}`,
  });
  const headers = { ...problem.headers, "Content-Security-Policy": pagePolicy, Vary: "Accept" };
  return toResponse(context, statusOf(problem.code), { type: htmlType, body }, headers);
}

// Content that caches may store: pages, documents and scripts.

/** Returns a function that responds with `file`, in the coding that the client prefers. */
function serveFile({ type, make, policy, isVersioned, isCompressed }: ServedFile): Respond {
  const file = new StaticFile(async () => toBytes(await make()), wholeEncoders);
  const headers = {
    "Cache-Control": isVersioned ? "public, max-age=31536000, immutable" : "public, no-cache",
    Vary: "Accept-Encoding",
    ...(policy ? { "Content-Security-Policy": policy } : {}),
  };
  const compress = isCompressed ? undefined : (coding: ContentCoding) => file.bytes(coding);
  return async (context) => {
    const [bytes, digest] = await Promise.all([file.bytes(undefined), file.digest()]);
    return respond(context, { type, bytes, digest, headers, compress });
  };
}

/** Responds with a text that was made for this request. @param vary the request header fields that the text depends on */
function serveMade(context: RequestContext, { type, text }: Download, vary: string): MaybePromise<WireResponse> {
  const bytes = Buffer.from(text);
  const headers = {
    "Cache-Control": "public, no-cache",
    Vary: `${vary}, Accept-Encoding`,
    "Content-Security-Policy": pagePolicy,
  };
  // The text is not cached, so compress it faster than files.
  const compress = (coding: ContentCoding) => compressList(new TextInParts([new TextPart(bytes)]), coding);
  return respond(context, { type, bytes, digest: shortDigest(bytes), headers, compress });
}

interface Content {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly digest: string;
  /** Header fields in addition to `Content-Type`, `ETag` and `Content-Encoding`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the bytes in a content coding; undefined for content that is compressed already. */
  readonly compress: ((coding: ContentCoding) => MaybePromise<ResponseBody>) | undefined;
}

function respond(
  context: RequestContext,
  { type, bytes, digest, headers, compress }: Content,
): MaybePromise<WireResponse> {
  const sent = context.request.headers;
  const coding = compress && chooseCoding(sent.get("accept-encoding"), bytes.length);
  const tagged = { ...headers, ETag: [`"${digest}-${coding ?? "plain"}"`] };
  if (isNotModified(sent, tagged.ETag)) return toCacheableResponse(context, 304, null, tagged);
  const typed = { "Content-Type": type, ...tagged };
  if (!compress || !coding) return toCacheableResponse(context, 200, bytes, typed);
  return whenResolved(compress(coding), (body) =>
    toCacheableResponse(context, 200, body, { "Content-Encoding": coding, ...typed }),
  );
}

function toBytes(content: Uint8Array | string): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : content;
}
