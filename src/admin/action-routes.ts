// The API of the console under `/operator`: each action is a method on a path, for an operator who is signed in. An action does nothing that
// a function of operator/ does not do.

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { preferredCoding } from "../http/common/content-negotiation.ts";
import type { IpNetwork } from "../lib/networks.ts";
import { randomText } from "../lib/text.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { managedSites, mayManage } from "../operator/operators.ts";
import { findSite, listSites, type SiteRecord, UnknownSite } from "../operator/sites.ts";
import { actingAs } from "../system/system-changes.ts";
import type { WireRequest } from "../wire/request.ts";
import type { AdminContent, AdminExchange, AdminRoute } from "./handler.ts";
import { Repeats } from "./idempotent-responses.ts";
import { ArrivingBodies, readJsonObject } from "./json-body.ts";
import { requireOwnPage, type Session, type SessionDependencies, sessionOf } from "./session.ts";

export interface ActionDependencies extends SessionDependencies {
  /** The address of the public listener. */
  readonly publicUrl: string;
  /** Networks that webhooks may reach although they are not public. */
  readonly webhookAllow: readonly IpNetwork[];
}

/** A request of an operator who is signed in. */
export interface Call extends ActionDependencies, AdminExchange {
  /** Journals what it changes under the operator's name and `run`. */
  readonly engine: Engine;
  /** The ID that all changes of this call share. */
  readonly run: string;
  readonly session: Session;
  /** The site that `{site}` in the path names. @throws Refusal `not-found`, also when the operator may not manage it */
  site(): Promise<SiteRecord>;
  /** The sites that the operator may manage. */
  sites(): Promise<readonly SiteRecord[]>;
  /** The body: a JSON object. @throws Refusal `bad-request` */
  input(): Promise<object>;
}

/** What an action does. It returns what the response has as JSON, or a file. */
type Run = (call: Call) => Promise<object | FileContent>;

/** A response that is a file to download. */
export interface FileContent extends AdminContent {
  readonly isFile: true;
}

/** @param scope `all` for what concerns the whole server: only operators of all sites may do it */
export type Action = readonly [
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE",
  path: string,
  run: Run,
  scope?: "all",
];

/** The routes of `actions`, by path. */
export function toRoutes(actions: readonly Action[], dependencies: ActionDependencies): Map<string, AdminRoute> {
  const routes = new Map<string, Record<string, AdminRoute[string]>>();
  const repeats = new Repeats(dependencies.now);
  const bodies = new ArrivingBodies();
  for (const [method, path, run, scope] of actions) {
    const route = routes.get(path) ?? {};
    routes.set(path, route);
    route[method] = async (exchange) => {
      if (method !== "GET") await requireBody(exchange.request, bodies, dependencies);
      const call = await toCall(exchange, dependencies);
      if (scope === "all") requireAllSites(call.session);
      const key = method === "GET" ? null : exchange.request.headers.get("idempotency-key");
      const content =
        key === null ? run(call).then((result) => toContent(result, exchange)) : runOnce(call, key, run, repeats);
      return content.catch((error) => {
        throw withoutOtherSites(error, call);
      });
    };
  }
  return routes;
}

/** @throws Refusal `forbidden` */
export function requireAllSites({ operator }: Session): void {
  if (operator.siteNames === undefined) return;
  throw new Refusal("forbidden", "only operators of all sites may do this");
}

/** Waits for the body. It may take its time, so that the operator is checked before it, and again when it is there. */
async function requireBody(
  request: WireRequest,
  bodies: ArrivingBodies,
  dependencies: ActionDependencies,
): Promise<void> {
  const { operator } = await sessionOf(request, dependencies);
  requireOwnPage(request, operator);
  await bodies.await(operator.ID, request);
}

/** An operator of some sites does not learn from a hint which others there are. */
function withoutOtherSites(error: unknown, { session, parameters }: Call): unknown {
  return error instanceof UnknownSite && session.operator.siteNames ? new UnknownSite(parameters.site ?? "") : error;
}

/** Runs an action unless it was run for this key before. @throws Refusal `not-found` when the operator may no longer manage the site */
async function runOnce(call: Call, key: string, run: Run, repeats: Repeats): Promise<AdminContent> {
  const { operator } = call.session;
  const attempt = { operator: operator.ID, key, request: await identityOf(call.request) };
  const { content, site } = await repeats.once(attempt, async () => {
    let used: SiteRecord | undefined;
    const site = async () => {
      used = await call.site();
      return used;
    };
    return { content: await toContent(await run({ ...call, site }), call), site: used?.ID };
  });
  // The path does not tell: the site may have another name by now, or none because this request has removed it.
  if (site !== undefined && !mayManage(operator, site)) throw new UnknownSite(call.parameters.site ?? "");
  return content;
}

async function identityOf(request: WireRequest): Promise<string> {
  const { method, target, headers } = request;
  const body = Bun.SHA256.hash((await request.body()).view, "hex");
  return JSON.stringify([method, target, headers.get("content-type"), headers.get("if-match"), body]);
}

async function toCall(exchange: AdminExchange, dependencies: ActionDependencies): Promise<Call> {
  const { engine } = dependencies;
  const session = await sessionOf(exchange.request, dependencies);
  requireOwnPage(exchange.request, session.operator);
  const run = randomText(8);
  const acting = actingAs(engine, `console:${session.operator.Name}`, run);
  return {
    ...dependencies,
    ...exchange,
    engine: acting,
    run,
    session,
    site: () => siteOf(engine, session, exchange.parameters.site ?? ""),
    sites: async () => managedSites(session.operator, await listSites(engine)),
    input: () => readJsonObject(exchange.request),
  };
}

async function siteOf(engine: Engine, { operator }: Session, name: string): Promise<SiteRecord> {
  const { siteNames } = operator;
  // For an operator of some sites, the others do not exist.
  if (siteNames && !siteNames.includes(name)) throw new UnknownSite(name);
  const site = await findSite(engine, name);
  // Another site may just have got this name.
  if (!mayManage(operator, site.ID)) throw new UnknownSite(name);
  return site;
}

const compress = promisify(gzip);

/** Characters from which on a response is compressed: what has a secret is shorter. A list of 1,000 sites has 138,000, and 12,000 then. */
const longResponse = 16_000;

async function toContent(result: object | FileContent, { request }: AdminExchange): Promise<AdminContent> {
  if ("isFile" in result) return result;
  const body = JSON.stringify(result);
  const headers = { "Content-Type": "application/json" };
  const coding = preferredCoding(request.headers.get("accept-encoding"), ["gzip"]);
  if (body.length < longResponse || coding === undefined) return { body, headers };
  // On another thread: a list of 10,000 sites would take this one for 8 ms.
  return { body: await compress(body, { level: 1 }), headers: { ...headers, "Content-Encoding": coding } };
}
