// Sends requests to the API of the console, `/operator`, which the folder admin/ implements, also the requests of several pages.

import type { FieldErrorInfo, WriteProblem, WriteResponse } from "../../admin/api/record-types.ts";
import type { ResourcesResponse, SitesResponse } from "../../admin/api/types.ts";
import { describeFieldError } from "../text/fields.ts";
import { compareClocks } from "../text/server-time.ts";
import { toSentence, translate } from "../text/translate.ts";
import { markForbidden, markSignedOut, markUnreachable, whenOpen } from "./server-access.ts";

/** Why a request was not fulfilled: the server rejected it, or could not be reached. */
export class HttpError extends Error {
  /** The status of the response; 0 if the server could not be reached. */
  readonly status: number;
  readonly body: HttpErrorBody;

  /** @param message for the operator */
  constructor(message: string, status: number, body: HttpErrorBody = {}) {
    super(message);
    this.name = "HttpError";
    this.status = status;
    this.body = body;
  }
}

/** A problem document of the server (RFC 9457). */
export interface HttpErrorBody extends WriteProblem {
  readonly code?: string;
  readonly detail?: string;
  /** The faults of the fields. */
  readonly errors?: readonly FieldErrorInfo[];
  /** ID of the signed-in operator, if the request was rejected because its page or link belongs to another operator. */
  readonly operator?: number | undefined;
}

let pageOperator: number | undefined;

/** Sets the operator of this page. Each request names this operator, because another tab may sign in another one. @param operator ID */
export function setPageOperator(operator: number): void {
  pageOperator = operator;
}

/**
 * Sends a request, and returns the JSON of the response. If the session has ended or belongs to another operator, waits until the operator of this
 * page has signed in again. If the server cannot be reached, a GET waits until it responds again.
 * @throws HttpError with the status, the detail of the problem, and its field errors
 */
export async function callApi<T>(
  method: string,
  path: string,
  body?: unknown,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<T> {
  const text = JSON.stringify(body);
  const change = method === "GET" ? undefined : keyOfChange([method, path, text]);
  const request = {
    method,
    headers: {
      Accept: "application/json",
      ...(text === undefined ? {} : { "Content-Type": "application/json" }),
      ...(change ? { "Idempotency-Key": change.key } : {}),
    },
    body: text ?? null,
    signal: signal ?? null,
  };
  const response = path === sessionPath ? await sendOnce(path, request) : await sendUntilAnswered(path, request);
  change?.clearKeys();
  return parseResult(response);
}

/** Sends bytes, such as a part of a file. @throws HttpError */
export async function sendBytes(method: string, path: string, bytes: ArrayBuffer): Promise<void> {
  const headers = { Accept: "application/json", "Content-Type": "application/octet-stream" };
  parseResult(await sendUntilAnswered(path, { method, headers, body: bytes }));
}

/** The path of the session. A request for it must not wait until somebody signs in. */
const sessionPath = "/session";

interface ApiResponse {
  readonly status: number;
  /** ID of the signed-in operator, if the request was rejected because this page belongs to another operator. */
  readonly operator: number | undefined;
  readonly text: string;
}

/** Sends a request, and repeats it until the server responds to the operator of this page. @throws HttpError with the status 0, see `callApi` */
async function sendUntilAnswered(path: string, request: RequestInit): Promise<ApiResponse> {
  for (;;) {
    try {
      const response = await sendOnce(path, request);
      if (response.status !== 401 && response.operator === undefined) return response;
      markSignedOut();
    } catch (error) {
      if (request.signal?.aborted) throw error;
      markUnreachable();
      // The server may have made the change, so do not repeat it: the operator decides.
      if (request.method !== "GET") throw error;
    }
    await whenOpen();
  }
}

/** Sends a request once. @throws HttpError with the status 0 if the server cannot be reached */
async function sendOnce(path: string, request: RequestInit): Promise<ApiResponse> {
  try {
    const headers = new Headers(request.headers);
    if (pageOperator !== undefined) headers.set("X-Operator", String(pageOperator));
    const response = await fetch(`/operator${path}`, { ...request, headers, credentials: "same-origin" });
    compareClocks(response.headers.get("Date"));
    const operator = response.headers.get("X-Operator");
    return {
      status: response.status,
      operator: operator === null ? undefined : Number(operator),
      text: await response.text(),
    };
  } catch {
    throw new HttpError(translate("app.unreachable_now"), 0);
  }
}

/** Returns the JSON of a successful response. @throws HttpError for any other response */
function parseResult<T>({ status, operator, text }: ApiResponse): T {
  const isGood = status >= 200 && status < 300;
  if (status === 204) return undefined as T;
  if (isGood) return JSON.parse(text);
  if (status === 403) markForbidden();
  const problem = { ...parseProblem(text), operator };
  throw new HttpError(messageOf(problem, status), status, problem);
}

function messageOf({ code, detail, errors }: HttpErrorBody, status: number): string {
  if (code === "invalid-record" && errors) return errors.map(describeFieldError).join(" ");
  return detail ? toSentence(detail) : translate("app.failed", { status });
}

function parseProblem(text: string): HttpErrorBody {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

// The `Idempotency-Key` of each change. If a response is lost, the server may have made the change. If the operator then sends the same change again,
// and no other change was answered in between, it gets the same key, so that the server makes it only once (admin/idempotent-responses.ts).

interface ChangeKey {
  /** The value of `Idempotency-Key`. */
  readonly key: string;
  /** Call it when the response has arrived. All later changes then get new keys. */
  readonly clearKeys: () => void;
}

const keys = new Map<string, string>();

const maxKeys = 100;

/** Returns the key of a change: a new key, unless the same request was sent before without a response. @param request a value for JSON */
function keyOfChange(request: unknown): ChangeKey {
  const text = JSON.stringify(request);
  const key = keys.get(text) ?? randomKey();
  if (keys.size >= maxKeys) keys.clear();
  keys.set(text, key);
  // After the response to any change, also another one, the operator sees the present state, and may want the same change again: for example, create
  // a record again that was created without a response and then deleted. With the first key, the server would answer, and store nothing.
  return { key, clearKeys: () => keys.clear() };
}

/** Returns a random key. It does not use `crypto.randomUUID`, which is missing on pages without TLS. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the path of a site, with `rest` after it: `/sites/garden/keys`. @param rest begins with `/`; by default, the path is that of the site itself */
export function sitePath(siteName: string, rest = ""): string {
  return `/sites/${encodeURIComponent(siteName)}${rest}`;
}

export type Declared = ResourcesResponse & SitesResponse;

/** Reads the declarations and the sites. @throws HttpError */
export async function loadDeclared(): Promise<Declared> {
  const [resources, sites] = await Promise.all([
    callApi<ResourcesResponse>("GET", "/resources"),
    callApi<SitesResponse>("GET", "/sites"),
  ]);
  return { ...resources, ...sites };
}

/** The result of a write, from which it can be undone. */
export interface UndoableWrite extends WriteResponse {
  readonly kind: "saved" | "created" | "deleted";
  /** Number of records. */
  readonly count: number;
}
