// The webhooks of a key's site (contract section 12): /restapi/webhooks.json and .xml, and below them, each webhook with its deliveries and actions.
//
// Everything is done by the functions that commands and the console use (operator/webhooks), with an engine that puts the key into the journal, and
// checks it again right before each commit. That commit fails if the system site has changed since, so a revoked key changes nothing.
//
// A key only reaches webhooks of its own site, and can only change or use those whose changes it could read.

import { type Format, formats } from "../../formats/format.ts";
import type { IpNetwork } from "../../lib/networks.ts";
import { randomText } from "../../lib/text.ts";
import { TokenBuckets } from "../../lib/token-buckets.ts";
import { documentOf } from "../../model/encoding.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { type Right, readRight, webhooksRight } from "../../model/key-rights.ts";
import { parseNewRecord, parseRecordChanges, toId } from "../../model/record.ts";
import { basePath, publicResources, type Resource } from "../../model/resource.ts";
import type { DeliveryAttempt } from "../../model/webhooks.ts";
import { withoutSecrets } from "../../operator/webhooks/url-secrets.ts";
import { createWebhook } from "../../operator/webhooks/webhook-creation.ts";
import { type ListedWebhook, listDeliveryAttempts, listWebhooks } from "../../operator/webhooks/webhook-list.ts";
import {
  changeWebhookUrl,
  operatorPause,
  pauseWebhook,
  removeWebhook,
  resumeWebhook,
  retryWebhook,
  rotateWebhook,
  testWebhook,
} from "../../operator/webhooks/webhooks.ts";
import { sentWebhook, shownDelivery, shownWebhook } from "../../resources/webhook.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import { toInstant } from "../../system/system-changes.ts";
import { type ApiKey, type SiteRecord, splitWords } from "../../system/system-records.ts";
import { withActor } from "../../system/with-actor.ts";
import { withCheck } from "../../system/with-check.ts";
import { toConsolePolicy, toDeliveryPolicy } from "../../webhooks/address-policy.ts";
import type { WireResponse } from "../../wire/response.ts";
import { missingRightError, requireRights } from "../authorization/authenticate.ts";
import { type RequestAuthorizer, requireSameSite } from "../authorization/authorizer.ts";
import { requireMatch } from "../conditional-requests.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { QueryReader } from "../query.ts";
import { rejectOtherEncodings } from "../records/record-body.ts";
import { type AuthorizedView, type RequestContext, type SiteRoute, siteRoute } from "../request-context.ts";
import { toResponse } from "../responses.ts";

interface WebhookRouteDependencies extends Pick<HttpDependencies, "engine" | "resources" | "now"> {
  readonly authorizer: RequestAuthorizer;
  readonly queries: QueryReader;
  /** Networks that webhooks can reach besides public ones. */
  readonly webhookAllow: readonly IpNetwork[];
}

/** A request that's authorized, with its body. */
interface Call {
  readonly context: RequestContext;
  readonly format: Format;
  readonly key: ApiKey;
  /** Puts the key into each change, and checks it again before each commit. */
  readonly engine: Engine;
  readonly site: SiteRecord;
  readonly body: Uint8Array;
}

type Work = (endpoint: WebhookEndpoint, call: Call) => Promise<WireResponse>;

const list = `${basePath}webhooks`;
const one = `${list}/{id}`;
const read = ["GET", "HEAD"];
const webhookActions = ["pause", "resume", "rotate", "retry", "test"] as const;

export function webhookRoutes(dependencies: WebhookRouteDependencies): [path: string, route: SiteRoute][] {
  const endpoint = new WebhookEndpoint(dependencies);
  const route = (path: string, format: Format, works: Readonly<Record<string, Work>>) =>
    siteRoute<Omit<SiteRoute, "kind" | "label">>(`${path}.${format.name}`, {
      readOperation: "webhooks",
      writeOperation: "webhooks",
      methods: [...Object.keys(works), "OPTIONS"],
      respond: (context, authorized) => endpoint.respond(context, format, authorized, works[context.method] as Work),
    });
  const reading = (work: Work) => Object.fromEntries(read.map((method) => [method, work]));
  return formats.flatMap((format) => [
    route(list, format, { ...reading((on, call) => on.list(call)), POST: (on, call) => on.create(call) }),
    route(one, format, {
      ...reading((on, call) => on.show(call)),
      PUT: (on, call) => on.change(call),
      PATCH: (on, call) => on.change(call),
      DELETE: (on, call) => on.remove(call),
    }),
    route(
      `${one}/deliveries`,
      format,
      reading((on, call) => on.deliveries(call)),
    ),
    ...webhookActions.map((action) => route(`${one}/${action}`, format, { POST: (on, call) => on[action](call) })),
  ]);
}

/** Each change of the system site wakes all waiting requests, and each test can take 15 s, so a site's keys can only do this often. */
const changeLimit = { tokensPerSecond: 0.5, maxTokens: 30 };

/** How many tests may run at once in a process. */
const maxTests = 8;

class WebhookEndpoint {
  readonly #dependencies: WebhookRouteDependencies;
  readonly #served: readonly Resource[];
  readonly #changes = new TokenBuckets<number>();
  #tests = 0;

  constructor(dependencies: WebhookRouteDependencies) {
    this.#dependencies = dependencies;
    this.#served = publicResources(dependencies.resources);
  }

  async respond(context: RequestContext, format: Format, { key }: AuthorizedView, work: Work): Promise<WireResponse> {
    const { authorizer, engine, queries, now } = this.#dependencies;
    const { request, method, target } = context;
    requireRights(context, key, [webhooksRight]);
    requireAllowed(context);
    queries.read(target.query, { kind: "webhooks", format, resources: this.#served });
    requireMatch(request.headers, undefined);
    if (!read.includes(method) && request.headers.has("if-none-match"))
      throw new ProblemError("precondition-failed", "webhooks have no ETag, so leave out If-None-Match");
    rejectOtherEncodings(request.headers);
    if (!read.includes(method) && this.#changes.consumeToken(key.siteId, changeLimit, now()) === undefined)
      throw new ProblemError("too-many-requests", "this site's webhooks have been changed too often", {
        retryAfterSeconds: 1 / changeLimit.tokensPerSecond,
      });
    const { view } = request.receivedBody ?? (await request.readBody());
    const check = () =>
      authorizer.reauthorize(context, (again) => {
        requireSameSite(again, key.siteId);
        requireAllowed(context);
        return again.key;
      });
    const present = await check();
    const { sites } = await readSystemRecords(engine);
    const site = sites.find(({ ID }) => ID === key.siteId);
    if (!site) throw new ProblemError("not-found", "the site was removed");
    const call = {
      context,
      format,
      key: present,
      // A commit only succeeds as of the head that was read before the check, so the key is still valid then.
      engine: withCheck(withActor(engine, key.prefix, randomText(8)), check),
      site,
      body: view,
    };
    const response = await work(this, call).catch((error) => {
      // Elsewhere, clients are told to repeat a request that gets a 409, which wouldn't help here.
      if (error instanceof ProblemError && error.code === "conflict")
        throw new ProblemError("bad-request", error.message);
      throw error;
    });
    if (read.includes(method)) await check();
    return response;
  }

  async list(call: Call): Promise<WireResponse> {
    const webhooks = await listWebhooks(call.engine, call.site);
    const items = webhooks.map((webhook) => JSON.stringify(toShown(webhook, call.key)));
    return respondWithList(call, shownWebhook, items);
  }

  async show(call: Call): Promise<WireResponse> {
    return respondWith(call, await this.#find(call));
  }

  async create(call: Call): Promise<WireResponse> {
    const { context, format, engine, site, key, body } = call;
    const { input, fieldErrors } = format.decode(sentWebhook, body);
    const { URL: url, Resources } = parseNewRecord(sentWebhook, input, fieldErrors) as Record<string, string>;
    const readable = this.#served.filter((resource) => key.rights.allows(readRight(resource)));
    const asked = splitWords(Resources ?? "").map((path) => this.#resourceAt(path));
    // Only a scope includes resources that are added later.
    const resources = asked.length > 0 || key.rights.scope !== undefined ? asked : readable;
    if (asked.length === 0 && readable.length === 0) throw missingRightError(context, this.#served.map(readRight));
    const sent = resources.length > 0 ? resources : this.#served;
    requireRights(context, key, [webhooksRight, ...sent.map(readRight)]);
    const settings = { url: String(url), resources, since: "now" as const, key: key.prefix };
    const policy = toConsolePolicy(this.#dependencies.webhookAllow);
    const { webhook, secret } = await createWebhook(engine, site, settings, policy, this.#dependencies.now());
    return respondWith(call, webhook, { secret, status: 201 });
  }

  async change(call: Call): Promise<WireResponse> {
    const webhook = await this.#findUsable(call);
    const { input, fieldErrors } = call.format.decode(sentWebhook, call.body);
    const { id, values } = parseRecordChanges(sentWebhook, input, fieldErrors);
    if (id !== undefined && id !== webhook.ID)
      throw new ProblemError("ambiguous-id", "the path and the body have different IDs");
    if (values.Resources !== undefined && values.Resources !== webhook.Resources)
      throw new ProblemError("bad-request", "`Resources` can't be changed; create another webhook");
    if (values.URL === undefined) return respondWith(call, webhook);
    const policy = toConsolePolicy(this.#dependencies.webhookAllow);
    const { now } = this.#dependencies;
    const changed = await changeWebhookUrl(call.engine, webhook.ID, String(values.URL), policy, now());
    return respondWith(call, changed.webhook);
  }

  async remove(call: Call): Promise<WireResponse> {
    const { ID } = await this.#findUsable(call);
    return respondWith(call, await removeWebhook(call.engine, ID, this.#dependencies.now()));
  }

  async pause(call: Call): Promise<WireResponse> {
    const { ID } = await this.#findUsable(call);
    const reason = `paused by the API key ${call.key.prefix}`;
    return respondWith(call, await pauseWebhook(call.engine, ID, this.#dependencies.now(), reason));
  }

  async resume(call: Call): Promise<WireResponse> {
    const { ID } = await this.#findUsable(call);
    const requireResumable = ({ Paused, Reason }: { readonly Paused: string; readonly Reason: string }) => {
      if (Paused !== "" && Reason === operatorPause)
        throw new ProblemError("forbidden", "an operator has paused this webhook, so only an operator can resume it");
    };
    // As in the console, a webhook added on the command line may have a URL on this machine.
    const { webhookAllow, now } = this.#dependencies;
    const policy = toDeliveryPolicy(webhookAllow);
    return respondWith(call, await resumeWebhook(call.engine, ID, policy, now(), requireResumable));
  }

  async rotate(call: Call): Promise<WireResponse> {
    const { ID } = await this.#findUsable(call);
    // Unlike the others, this doesn't commit anything that's checked.
    await this.#dependencies.authorizer.reauthorize(call.context, () => {});
    const { webhook, secret } = await rotateWebhook(call.engine, ID, this.#dependencies.now());
    return respondWith(call, webhook, { secret });
  }

  async retry(call: Call): Promise<WireResponse> {
    const { ID } = await this.#findUsable(call);
    return respondWith(call, await retryWebhook(call.engine, ID, this.#dependencies.now()));
  }

  async test(call: Call): Promise<WireResponse> {
    const { ID } = await this.#findUsable(call);
    if (this.#tests >= maxTests)
      throw new ProblemError("too-many-requests", `${maxTests} tests are already running`, { retryAfterSeconds: 15 });
    this.#tests++;
    try {
      const { webhook, attempt } = await testWebhook(call.engine, ID, this.#dependencies.webhookAllow);
      const kept = (await listDeliveryAttempts(call.engine, webhook)).find(({ at }) => at === attempt.at);
      if (!kept) throw new ProblemError("not-found", "the test's attempt wasn't kept");
      return toResponse(call.context, 200, {
        type: call.format.contentType,
        body: documentOf(call.format, shownDelivery, deliveryJson(kept)),
      });
    } finally {
      this.#tests--;
    }
  }

  async deliveries(call: Call): Promise<WireResponse> {
    const attempts = await listDeliveryAttempts(call.engine, await this.#find(call));
    return respondWithList(call, shownDelivery, attempts.map(deliveryJson));
  }

  async #find({ context, engine, site }: Call): Promise<ListedWebhook> {
    const [, sent = ""] = /\/webhooks\/([^/.]+)/.exec(context.target.path) ?? [];
    const found = (await listWebhooks(engine, site)).find(({ ID }) => ID === toId(sent));
    if (found) return found;
    throw new ProblemError("not-found", `there is no webhook with the ID ${sent.slice(0, 40)}`);
  }

  /** Otherwise, a key could have changes that it can't read sent somewhere else. */
  async #findUsable(call: Call): Promise<ListedWebhook> {
    const webhook = await this.#find(call);
    const paths = splitWords(webhook.Resources);
    const sent = paths.length === 0 ? this.#served : this.#served.filter(({ path }) => paths.includes(path));
    const needed: readonly Right[] = [webhooksRight, ...sent.map(readRight)];
    requireRights(call.context, call.key, needed);
    return webhook;
  }

  #resourceAt(path: string): Resource {
    const found = this.#served.find((resource) => resource.path === path);
    if (found) return found;
    const paths = this.#served.map((resource) => `\`${resource.path}\``).join(", ");
    throw new ProblemError("bad-request", `\`Resources\`: unknown resource \`${path}\`; the resources are ${paths}`);
  }
}

/** @throws ProblemError `forbidden` */
function requireAllowed({ site }: RequestContext): void {
  if (site?.allowsWebhooksByKey === false)
    throw new ProblemError("forbidden", "the site's operator doesn't allow API keys to manage webhooks");
}

function respondWith(
  { context, format, key }: Call,
  webhook: ListedWebhook,
  { secret = "", status = 200 } = {},
): WireResponse {
  const body = documentOf(format, shownWebhook, JSON.stringify(toShown(webhook, key, secret)));
  const headers = status === 201 ? { Location: `${list}/${webhook.ID}.${format.name}` } : {};
  return toResponse(context, status, { type: format.contentType, body }, headers as Record<string, string>);
}

/** @param items each as JSON */
function respondWithList({ context, format }: Call, resource: Resource, items: readonly string[]): WireResponse {
  const list = items.map((item) => format.item(resource, item)).join(format.separator);
  return toResponse(context, 200, { type: format.contentType, body: format.listStart + list + format.listEnd });
}

function toShown(webhook: ListedWebhook, key: ApiKey, secret = "") {
  const { ID, URL: url, Resources, status, detail, backlog, state, Created, Key } = webhook;
  const isOwn = Key !== "" && [key.prefix, ...key.formerPrefixes].includes(Key);
  return {
    ID,
    URL: isOwn ? url : withoutSecrets(url),
    Resources,
    Status: status,
    Detail: detail,
    Behind: backlog ? String(backlog.changes) : "",
    Cursor: state?.cursor ?? "",
    Created,
    Key,
    Secret: secret,
  };
}

function deliveryJson({
  number,
  at,
  status,
  milliseconds,
  fault,
}: DeliveryAttempt & { readonly number: number }): string {
  return JSON.stringify({
    ID: number,
    At: toInstant(at),
    Status: status === null ? "" : String(status),
    Milliseconds: String(milliseconds),
    Fault: fault ?? "",
  });
}
