// Checks every response in the tests against the OpenAPI document and the XSD, and webhook events against the document, so that neither can drift from the
// server.

import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import { once } from "../../../src/lib/concurrency.ts";
import { publicResources, type Resource } from "../../../src/model/resource.ts";
import type { Schema } from "../../../src/reference/json-schema.ts";
import { toOpenapi } from "../../../src/reference/openapi/document.ts";

export interface SentRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A webhook's event, as the receiver got it. */
export interface DeliveredEvent {
  /** Keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Conformance {
  /** Rejects if the document doesn't allow this response to that request. */
  check(sent: SentRequest, received: ReceivedResponse): Promise<void>;
  /** Throws if the document doesn't allow this event. */
  checkEvent(event: DeliveredEvent): void;
}

type Header = { readonly required?: boolean; readonly schema: Schema };
type Response = { readonly headers?: Record<string, Header>; readonly content?: Record<string, { schema: Schema }> };
type Operation = { readonly responses: Record<string, Response> };
type Parameter = { readonly name: string; readonly schema: Schema };
type Webhook = { readonly post: { readonly parameters: Parameter[]; readonly requestBody: Response } };

/** Statuses that no operation has to list. */
const withoutOperation = [400, 404, 405, 421, 500, 501, 503];

/** Headers that belong to the connection, not to the response. */
const ofTheConnection = ["connection", "keep-alive", "transfer-encoding"];

/** Checks what the document for `resources` promises. */
export function createConformance(resources: readonly Resource[]): Conformance {
  const document = withoutOtherMembers(toOpenapi(publicResources(resources))) as Schema;
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    // Spectral and Redocly validate the schemas in packaging/openapi-linters.test.ts. Here, that would double the time.
    meta: false,
    validateSchema: false,
    formats: { uri: URL.canParse, "uri-reference": isReference, "date-time": isTime },
  });
  ajv.addSchema(document, "openapi");
  const validators = new Map<string, ValidateFunction>();
  // libxml2 takes a tenth of a second to load, and most test files don't use XML.
  const xmlReader = once(async () => (await import("./xml-reader.ts")).createXmlReader(resources));
  const paths = Object.entries(document.paths as Record<string, Record<string, Operation>>).map(
    ([path, operations]) => ({
      pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace("{id}", "[^/]+")}$`),
      pointer: `/paths/${path.replaceAll("/", "~1")}`,
      operations,
    }),
  );

  async function check(sent: SentRequest, received: ReceivedResponse): Promise<void> {
    const path = sent.path.split("?")[0] as string;
    if (!path.startsWith("/restapi/") || received.status === 431) return;
    const place = paths.find(({ pattern }) => pattern.test(path));
    const operation = place?.operations[sent.method.toLowerCase()];
    if (!place || !operation) {
      await checkProblem(sent.method, path, received);
      return;
    }
    const response = operation.responses[received.status];
    if (!response) throw new Error(`${received.status} is not among the responses`);
    const pointer = `${place.pointer}/${sent.method.toLowerCase()}/responses/${received.status}`;
    checkHeaders(resolve(response), received);
    if (sent.method !== "HEAD") await checkBody(pointer, resolve(response), received, fieldsOf(sent));
  }

  /** The response to a path or method that isn't in the document must be a problem. */
  async function checkProblem(method: string, path: string, received: ReceivedResponse): Promise<void> {
    const { status } = received;
    const isSuspended = status === 403 && received.text.includes("/docs/problems/site-suspended");
    if (!isSuspended && !withoutOperation.includes(status))
      throw new Error(`${status} at a path or method that is not in the document`);
    const name = path.endsWith(".xml") ? "NotFoundXml" : "NotFound";
    const notFound = (document.components as { responses: Record<string, Response> }).responses[name] as Response;
    if (status === 405 && !received.headers.has("Allow")) throw new Error("405 without Allow");
    checkHeaders(notFound, received, ["Allow", "Retry-After"]);
    // A response to HEAD has no body, and Bun's fetch doesn't return one for TRACE.
    if (method !== "HEAD" && method !== "TRACE") await checkBody(`/components/responses/${name}`, notFound, received);
  }

  function checkHeaders({ headers = {} }: Response, received: ReceivedResponse, also: readonly string[] = []): void {
    const known = new Set(["content-type", ...[...Object.keys(headers), ...also].map((name) => name.toLowerCase())]);
    for (const name of received.headers.keys()) {
      if (!known.has(name) && !ofTheConnection.includes(name))
        throw new Error(`the header ${name} is not in the document`);
    }
    for (const [name, reference] of Object.entries(headers)) {
      const header = resolve(reference);
      const value = received.headers.get(name);
      if (value === null) {
        if (header.required) throw new Error(`the header ${name} is missing`);
        continue;
      }
      const validate = validator(name, header.schema);
      if (!validate(header.schema.type === "integer" ? Number(value) : value)) {
        throw new Error(`the header ${name}: ${value}: ${ajv.errorsText(validate.errors)}`);
      }
    }
  }

  /** @param fields the request's `fields`, for a list */
  async function checkBody(
    pointer: string,
    { content }: Response,
    received: ReceivedResponse,
    fields?: readonly string[],
  ): Promise<void> {
    const type = received.headers.get("Content-Type");
    if (!content) {
      if (received.text !== "" || type !== null) throw new Error("a body where the document has none");
      return;
    }
    const [documented] = Object.keys(content) as [string];
    if (type?.split(";")[0] !== documented) throw new Error(`the content type is ${type}, not ${documented}`);
    const schema = content[documented]?.schema as Schema;
    const body = documented.endsWith("xml") ? (await xmlReader())(received.text) : JSON.parse(received.text);
    const isPart = fields !== undefined && schema.type === "array";
    const validate = isPart
      ? validator(`${pointer} ${documented} ${fields}`, {
          ...schema,
          items: pick(schema.items as Schema, ["ID", ...fields]),
        })
      : validator(`${pointer} ${documented}`, schema);
    if (!validate(body))
      throw new Error(`the body: ${ajv.errorsText(validate.errors)}\n${received.text.slice(0, 500)}`);
  }

  function checkEvent({ headers, body }: DeliveredEvent): void {
    const event = JSON.parse(body) as { readonly type: string };
    const webhook = (document.webhooks as Record<string, Webhook>)[event.type];
    if (!webhook) throw new Error("no webhook has this type");
    for (const { name, schema } of webhook.post.parameters.map(resolve)) {
      const value = schema.type === "integer" ? Number(headers[name]) : headers[name];
      const validate = validator(name, schema);
      if (!validate(value)) throw new Error(`the header ${name}: ${value}: ${ajv.errorsText(validate.errors)}`);
    }
    const [[type, content] = []] = Object.entries(webhook.post.requestBody.content ?? {});
    if (headers["content-type"] !== type)
      throw new Error(`the content type is ${headers["content-type"]}, not ${type}`);
    const validate = validator(`event ${event.type}`, content?.schema as Schema);
    if (!validate(event)) throw new Error(`the body: ${ajv.errorsText(validate.errors)}`);
  }

  /** Returns the schema of a record that only has the members at `paths`. */
  function pick(reference: Schema, paths: readonly string[]): Schema {
    const schema = resolve(reference);
    const members = Object.entries(schema.properties as Record<string, Schema>).flatMap(([name, member]) => {
      const inner = paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1));
      if (paths.includes(name)) return [[name, member] as const];
      return inner.length > 0 ? [[name, pick(member, inner)] as const] : [];
    });
    return { ...schema, properties: Object.fromEntries(members), required: members.map(([name]) => name) };
  }

  function validator(key: string, schema: Schema): ValidateFunction {
    let validate = validators.get(key);
    if (!validate) {
      validate = ajv.compile(absolute(schema) as Schema);
      validators.set(key, validate);
    }
    return validate;
  }

  function resolve<T extends object>(value: T): T {
    const pointer = (value as { $ref?: string }).$ref;
    if (!pointer) return value;
    return pointer
      .slice(2)
      .split("/")
      .reduce((at: unknown, name) => (at as Record<string, unknown>)[name], document) as T;
  }

  return {
    async check(sent, received) {
      try {
        await check(sent, received);
      } catch (error) {
        const what = `${sent.method} ${sent.path} -> ${received.status}`;
        throw new Error(`${what} is not as the OpenAPI document says: ${(error as Error).message}`);
      }
    },
    checkEvent(event) {
      try {
        checkEvent(event);
      } catch (error) {
        const what = `the event ${event.body.slice(0, 500)}`;
        throw new Error(`${what} is not as the OpenAPI document says: ${(error as Error).message}`);
      }
    },
  };
}

/** Returns the names in the query's `fields`, separated by commas or repeated; undefined without `fields`. */
function fieldsOf({ path }: SentRequest): string[] | undefined {
  const all = new URLSearchParams(path.split("?")[1]).getAll("fields");
  return all.length > 0 ? all.flatMap((fields) => fields.split(",")) : undefined;
}

/** Returns the schema without permission for unknown members. Clients must ignore those, but here they're errors. */
function withoutOtherMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOtherMembers);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutOtherMembers(inner)]));
  return copy.type === "object" && "properties" in copy ? { additionalProperties: false, ...copy } : copy;
}

/** References within the document, as seen from outside it. */
function absolute(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(absolute);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === "$ref" && typeof inner === "string" && inner.startsWith("#") ? `openapi${inner}` : absolute(inner),
    ]),
  );
}

function isReference(text: string): boolean {
  return URL.canParse(text, "http://shop.example/");
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text));
}
