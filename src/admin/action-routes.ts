// The API of the console under `/operator`. Each action is a method on a path, for a signed-in operator. Its work is done by
// functions of operator/, so that the console and the command line can do the same.

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ActivityAnswer, ActivityQuestion } from "../http/common/activity.ts";
import { preferredCoding } from "../http/common/content-negotiation.ts";
import { parseIdempotencyName } from "../http/common/parameters.ts";
import type { IpNetwork } from "../lib/networks.ts";
import { randomText } from "../lib/text.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import type { Right } from "../model/operator-role.ts";
import { canManage, hasRight, managedSites } from "../operator/operators/operators.ts";
import { getSite, listSites, UnknownSiteError } from "../operator/sites/sites.ts";
import type { SiteRecord } from "../system/system-records.ts";
import { withActor } from "../system/with-actor.ts";
import type { WireRequest } from "../wire/request.ts";
import { OperatorBodies } from "./awaited-bodies.ts";
import type { AdminContent, AdminRequestContext, AdminRoute } from "./handler.ts";
import { IdempotentResponses } from "./idempotent-responses.ts";
import { type ReceivedBody, readJsonObject } from "./json-body.ts";
import { OperatorReads } from "./long-work.ts";
import { requireOwnPage, requireSession, type Session, type SessionDependencies } from "./session.ts";

export interface ActionDependencies extends SessionDependencies {
  /** The URL of the public listener. */
  readonly publicUrl: string;
  /** Asks all processes that serve the public port about the activity of a site. The answer of a process is undefined if it does not respond. */
  askActivity(question: ActivityQuestion): Promise<readonly ActivityAnswer[]>;
  /** Networks that webhooks may reach although they are not public. */
  readonly webhookAllow: readonly IpNetwork[];
}

export interface ActionContext extends ActionDependencies, AdminRequestContext {
  /** Writes with the actor `console:<name>` and the run ID `run`. */
  readonly engine: Engine;
  /** The run ID, which all changes of this request share. */
  readonly run: string;
  readonly session: Session;
  readonly needs: Right;
  /** Returns the site that `{site}` in the path names. @throws ProblemError `not-found`, also if the operator may not manage the site */
  site(): Promise<SiteRecord>;
  sites(): Promise<readonly SiteRecord[]>;
  /** Returns the body, which must be a JSON object. Its members are not checked. @throws ProblemError `bad-request` */
  input<Body>(): Promise<ReceivedBody<Body>>;
}

/** The function of an action. Returns the object to send as JSON, or a file. */
type ActionHandler = (call: ActionContext) => Promise<object | FileContent>;

/** A response that is a file to download. */
export interface FileContent extends AdminContent {
  readonly isFile: true;
}

/**
 * An action. Nobody may use an action without the right that it `needs`. Only operators of all sites may use an action that concerns the whole
 * server.
 */
export type Action = readonly [
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE",
  path: string,
  needs: Right,
  run: ActionHandler,
  onlyFor?: "operators of all sites",
];

interface SharedByActions {
  readonly dependencies: ActionDependencies;
  readonly responses: IdempotentResponses;
  readonly bodies: OperatorBodies;
  readonly reads: OperatorReads;
}

export function toRoutes(actions: readonly Action[], dependencies: ActionDependencies): Map<string, AdminRoute> {
  const routes = new Map<string, Record<string, AdminRoute[string]>>();
  const responses = new IdempotentResponses(dependencies.now);
  const shared = { dependencies, responses, bodies: new OperatorBodies(), reads: new OperatorReads() };
  for (const action of actions) {
    const [method, path] = action;
    const route = routes.get(path) ?? {};
    routes.set(path, route);
    route[method] = (context) => respondToAction(action, context, shared);
  }
  return routes;
}

/** Checks the operator, waits for the body or for its turn, and runs the action. A repeated request gets its first response. @throws ProblemError */
async function respondToAction(
  action: Action,
  context: AdminRequestContext,
  { dependencies, responses, bodies, reads }: SharedByActions,
): Promise<AdminContent> {
  const [method, , needs] = action;
  const { request } = context;
  const session = await requireRight(request, needs, dependencies);
  if (method === "GET") return reads.run({ request, session }, () => runAction(action, context, dependencies));
  // The body may take long to arrive, so the operator is checked again after that.
  await bodies.waitForBody(session.operator.ID, request);
  return runAction(action, context, dependencies, responses);
}

/** @param responses of writes, by their `Idempotency-Key` */
async function runAction(
  [, , needs, run, onlyFor]: Action,
  context: AdminRequestContext,
  dependencies: ActionDependencies,
  responses?: IdempotentResponses,
): Promise<AdminContent> {
  const { engine } = dependencies;
  const { request, parameters } = context;
  const session = await requireRight(request, needs, dependencies);
  if (onlyFor === "operators of all sites") requireOperatorOfAllSites(session);
  const { operator } = session;
  const runId = randomText(8);
  const call: ActionContext = {
    ...dependencies,
    ...context,
    engine: withActor(engine, `console:${operator.Name}`, runId),
    run: runId,
    session,
    needs,
    site: () => siteOf(engine, session, parameters.site ?? ""),
    sites: async () => managedSites(operator, await listSites(engine)),
    input: () => readJsonObject(request),
  };
  const key = responses && parseIdempotencyName(context);
  try {
    if (responses && key !== undefined) return await runIdempotent(call, key, run, responses);
    return await toContent(await run(call), context);
  } catch (error) {
    // An operator of some sites must not learn the names of others, as the suggestion of a similar name would tell.
    if (error instanceof UnknownSiteError && operator.siteNames) throw new UnknownSiteError(parameters.site ?? "");
    throw error;
  }
}

export function requireOperatorOfAllSites({ operator }: Session): void {
  if (operator.siteNames === undefined) return;
  throw new ProblemError("forbidden", "only operators of all sites may do this");
}

const whatRightsAllow: Readonly<Record<Right, string>> = {
  read: "see this",
  "read-settings": "see keys, webhooks and operators",
  records: "change records",
  settings: "change keys, webhooks, sites and operators",
};

/** Returns the session of an operator with a right. @throws ProblemError `unauthorized`, `forbidden`, or `conflict` or `bad-request` as `requireOwnPage` */
async function requireRight(request: WireRequest, needs: Right, dependencies: ActionDependencies): Promise<Session> {
  const session = await requireSession(request, dependencies);
  requireOwnPage(request, session.operator);
  if (hasRight(session.operator, needs)) return session;
  const hint = "an operator with all rights can change your role";
  throw new ProblemError("forbidden", `your role does not let you ${whatRightsAllow[needs]}; ${hint}`);
}

/**
 * Runs an action once for each `Idempotency-Key`. For a repeated request, returns the first response.
 * @throws ProblemError `not-found` if the operator may no longer manage the site of the response
 */
async function runIdempotent(
  call: ActionContext,
  key: string,
  run: ActionHandler,
  responses: IdempotentResponses,
): Promise<AdminContent> {
  const { operator, systemEpoch } = call.session;
  const attempt = { operator: operator.ID, systemEpoch, key, request: await requestFingerprint(call.request) };
  const { content, site } = await responses.respondOnce(attempt, async () => {
    let used: SiteRecord | undefined;
    const site = async () => {
      used = await call.site();
      return used;
    };
    return { content: await toContent(await run({ ...call, site }), call), site: used };
  });
  // Check the ID of the site that the action used, not the name in the path: the site may have been renamed, or removed by this request.
  if (site !== undefined && !canManage(operator, site)) throw new UnknownSiteError(call.parameters.site ?? "");
  return content;
}

/** Returns a text that is the same for two requests only if method, target, content and the header fields that matter are the same. */
async function requestFingerprint(request: WireRequest): Promise<string> {
  const { method, target, headers } = request;
  const body = Bun.SHA256.hash((await request.readBody()).view, "hex");
  return JSON.stringify([method, target, headers.get("content-type"), body]);
}

/** Returns the site `name`. @throws UnknownSiteError if it does not exist, or if the operator may not manage it */
async function siteOf(engine: Engine, { operator }: Session, name: string): Promise<SiteRecord> {
  if (operator.siteNames) {
    // An operator of some sites must not learn that another site exists.
    const managed = managedSites(operator, await listSites(engine));
    if (!managed.some(({ Name }) => Name === name)) throw new UnknownSiteError(name);
  }
  const site = await getSite(engine, name);
  // Check the ID too, because another site may have just received this name.
  if (!canManage(operator, site)) throw new UnknownSiteError(name);
  return site;
}

const compress = promisify(gzip);

/**
 * Minimum length of a response that is compressed, in characters. Responses with a secret are shorter, and so never compressed. A list of 1,000 sites
 * has 138,000 characters, and 12,000 bytes after compression.
 */
const minCompressedChars = 16_000;

async function toContent(result: object | FileContent, { request }: AdminRequestContext): Promise<AdminContent> {
  if ("isFile" in result) return result;
  const body = JSON.stringify(result);
  const headers = { "Content-Type": "application/json" };
  const coding = preferredCoding(request.headers.get("accept-encoding"), ["gzip"]);
  if (body.length < minCompressedChars || coding === undefined) return { body, headers };
  // Compress on another thread, because a list of 10,000 sites would block this one for 8 ms.
  return { body: await compress(body, { level: 1 }), headers: { ...headers, "Content-Encoding": coding } };
}
