// Creates, updates and deletes records: makes an intent of a request, passes it to the write queue, and makes the response of its outcome. Also
// implements `Idempotency-Key`.

import type { RecordChanges } from "../model/canonical-json.ts";
import {
  type Idempotency,
  type Intent,
  type Operation,
  type Outcome,
  type Refused,
  versionParts,
} from "../model/change.ts";
import { documentOf } from "../model/encoding.ts";
import type { Head } from "../model/engine.ts";
import { OtherHistory, Refusal, TryAgain } from "../model/errors.ts";
import { oneId, toDeclared, toId } from "../model/record.ts";
import type { WriteQueue } from "../store/writes/write-queue.ts";
import type { BodyBytes } from "../wire/request-body.ts";
import type { HeaderParts, WireResponse } from "../wire/response.ts";
import { hasWeakTag, toEtag, versionsBut, versionsOf } from "./conditional-requests.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./handler.ts";
import { noSuchRecord } from "./read.ts";
import { readChangesBody, readNewBody } from "./record-body.ts";
import { toResponse } from "./responses.ts";
import { idIn, type ResourceRoute } from "./route.ts";

const operations: Record<string, Operation> = { POST: "create", PUT: "update", PATCH: "update", DELETE: "delete" };

/**
 * The key or the site changed while the write was queued, so the write was not stored. resource-routes.ts authorizes again and repeats the write. The
 * client gets this error only if that happens at each of three attempts.
 */
export class KeyChanged extends TryAgain {
  constructor() {
    super("the API key or the website is being changed");
  }
}

/** The authorization of a write, and its time. */
interface Author {
  readonly key: Key;
  /** The head of the system site when the key was checked. */
  readonly system: Head;
  /** Milliseconds since 1970 (UTC). */
  readonly at: number;
}

/**
 * Executes a create, update or delete. Resolves with the response when the change is on durable storage.
 * @throws ProblemError for a request or an outcome that is rejected; KeyChangedError; EpochChangedError
 */
export function write(
  exchange: Exchange,
  route: ResourceRoute,
  author: Author,
  body: BodyBytes,
  writes: WriteQueue,
  idempotencies: Idempotencies,
): Promise<WireResponse> {
  const intent = toIntent(exchange, route, author, body);
  return idempotencies
    .once(intent, () => writes.write(intent))
    .then((outcome) => {
      if (outcome.kind === "refused") throw toRefusal(exchange, outcome, route, intent);
      return toWrittenResponse(exchange, route, outcome);
    });
}

function toIntent(exchange: Exchange, route: ResourceRoute, { key, system, at }: Author, body: BodyBytes): Intent {
  const operation = operations[exchange.method] as Operation;
  const isNew = operation === "create";
  const wanted = isNew ? { text: readNewBody(exchange, route, body) } : readChange(exchange, route, body, operation);
  const { headers } = exchange.request;
  return {
    site: key.site,
    resource: route.resource.name,
    operation,
    ...wanted,
    ifVersion: isNew ? undefined : versionsOf(headers.get("if-match")),
    ifNotVersion: isNew ? undefined : versionsBut(headers.get("if-none-match")),
    ifSystemEpoch: system.epoch,
    admitted: { keyId: key.id, revision: system.revision },
    actor: key.prefix,
    at,
    idempotency: readIdempotency(exchange, key, body),
  };
}

/**
 * Reads the ID and the changes of an update or delete. The path, the query and the body may each have the ID; they must agree (contract section 2).
 * @throws ProblemError `bad-request` without an ID or with different ones; the errors of the body
 */
function readChange(
  exchange: Exchange,
  route: ResourceRoute,
  body: BodyBytes,
  operation: Operation,
): { id: number; text: string } {
  const { pathId, target } = exchange;
  if (!route.isList && pathId === undefined) throw noSuchRecord(route, idIn(target.path));
  const changes = operation === "delete" && body.length === 0 ? nothing : readChangesBody(exchange, route, body);
  const id = oneId([pathId, ...queryIds(target.query), changes.id], waysToName(route));
  return { id, text: changes.text };
}

const nothing: RecordChanges = { id: undefined, text: "{}" };

function waysToName({ resource, format }: ResourceRoute): string {
  const path = `/restapi/${resource.path}`;
  const inBody = format.name === "xml" ? `<${resource.element} ID="12">` : '{"ID": 12, ...}';
  return `Name it by its ID in the path (\`${path}/12.${format.name}\`), in the body (\`${inBody}\`) or in the query (\`${path}.${format.name}?ID=12\`).`;
}

function queryIds(query: string): number[] {
  if (query === "") return [];
  const named = [...new URLSearchParams(query)].filter(([name]) => /^id$/i.test(name));
  return named.map(([name, value]) => {
    const shown = value.slice(0, 40);
    if (name !== "ID") {
      throw new Refusal("bad-request", `there is no parameter \`${name}\`; did you mean \`?ID=${shown}\`?`);
    }
    const id = toId(value);
    if (id === undefined) throw new Refusal("bad-request", `\`ID\` must be a whole number from 1, not \`${shown}\``);
    return id;
  });
}

function toRefusal(exchange: Exchange, { why }: Refused, route: ResourceRoute, intent: Intent): Refusal {
  if (why === "not-found") return noSuchRecord(route, intent.id as number);
  if (why === "precondition-failed") {
    const record = `the ${route.resource.singular} ${intent.id}`;
    if (intent.ifNotVersion) return new Refusal(why, `${record} is what If-None-Match rules out`);
    if (!hasWeakTag(exchange.request.headers.get("if-match"))) {
      return new Refusal(why, `${record} has changed since; read it again`);
    }
    const detail =
      "If-Match has a weak tag (`W/...`), which never matches. The tags of this server are strong, so something on the way " +
      "weakened it, such as a proxy that compresses: turn that off, or send the tag without `W/`";
    return new Refusal(why, detail);
  }
  if (why === "idempotency-key-reused") {
    return new Refusal(
      "idempotency-key-reused",
      "the Idempotency-Key was used for another request; use a new one for each",
    );
  }
  if (why === "other-history") return new OtherHistory();
  if (why === "key-changed") return new KeyChanged();
  throw new Error(`${intent.operation} was refused: ${why}`);
}

function toWrittenResponse(exchange: Exchange, route: ResourceRoute, outcome: Exclude<Outcome, Refused>): WireResponse {
  const { resource, format } = route;
  const body = documentOf(format, resource, toDeclared(resource, outcome.body));
  const content = { type: format.contentType, body };
  const headers: Record<string, string | HeaderParts> =
    outcome.kind === "replayed" ? { "Idempotency-Replayed": "true" } : {};
  if (outcome.operation === "delete") return toResponse(exchange, 200, content, headers);
  headers.ETag = toEtag(versionParts(outcome, outcome.revision), resource, format.name);
  if (outcome.operation === "update") return toResponse(exchange, 200, content, headers);
  headers.Location = ["/restapi/", resource.path, "/", outcome.id, ".", format.name];
  return toResponse(exchange, 201, content, headers);
}

// Implements `Idempotency-Key` (contract section 7): compares requests by digest, and rejects a key that is in use in this process. The engine
// stores the first outcome in the transaction of the write.

/**
 * Returns the name of the `Idempotency-Key` and the digest of the request; undefined without that header.
 * @throws ProblemError `bad-request` for a key that is not 1 to 255 printable ASCII characters
 */
function readIdempotency(exchange: Exchange, key: Key, body: BodyBytes): Idempotency | undefined {
  const name = exchange.request.headers.get("idempotency-key");
  if (name === null) return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(name)) {
    throw new Refusal("bad-request", "the Idempotency-Key must be 1 to 255 printable ASCII characters");
  }
  return { keyId: key.id, name, digest: digestOf(exchange, body) };
}

/**
 * Returns the digest by which a repeated request is recognized. Two requests are the same if they have the same effective method (a POST with
 * `X-HTTP-Method-Override: PUT` is a PUT), path, query, conditions and body. A CR separates the conditions, because no header field can contain it.
 */
function digestOf({ request, method, target }: Exchange, body: BodyBytes): string {
  const conditions = ["if-match", "if-none-match"].flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [`\r${name}: ${value}`];
  });
  const start = `${method} ${target.path}?${target.query}${conditions.join("")}\n`;
  return new Bun.CryptoHasher("sha256").update(start).update(body.view).digest("hex");
}

/** The idempotency keys of the writes that are running in this process. */
export class Idempotencies {
  readonly #running = new Set<string>();

  /** Runs `work`. @throws ProblemError `conflict` if a request with the same idempotency key is still running */
  once({ idempotency }: Intent, work: () => Promise<Outcome>): Promise<Outcome> {
    return idempotency ? this.#once(idempotency, work) : work();
  }

  async #once(idempotency: Idempotency, work: () => Promise<Outcome>): Promise<Outcome> {
    const name = `${idempotency.keyId}/${idempotency.name}`;
    if (this.#running.has(name)) {
      throw new Refusal("conflict", "a request with this Idempotency-Key is still running", { retryAfter: 1 });
    }
    this.#running.add(name);
    try {
      return await work();
    } finally {
      this.#running.delete(name);
    }
  }
}
