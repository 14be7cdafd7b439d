// Runs the actions of the console's API under `/operator`. Each is a method on a path, for signed-in operators. operator/ does the actual work, so that
// the console and the command line can do the same things.

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
import { consoleActor } from "../operator/journal/events.ts";
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
import { browserAddress, requireOwnPage, requireSession, type Session, type SessionDependencies } from "./session.ts";

export interface ActionDependencies extends SessionDependencies {
  /** The public listener's URL. */
  readonly publicUrl: string;
  /** Asks all processes that serve the public port. An answer is undefined if the process doesn't respond. */
  askActivity(question: ActivityQuestion): Promise<readonly ActivityAnswer[]>;
  /** Networks that webhooks can reach besides public ones. */
  readonly webhookAllow: readonly IpNetwork[];
  /** Whether ordinary sign-in links work. */
  readonly allowsLinks: boolean;
}

export interface ActionContext extends ActionDependencies, AdminRequestContext {
  /** Writes with the actor `console:<name>` and the run `run`. */
  readonly engine: Engine;
  /** Shared by all changes of this request. */
  readonly run: string;
  readonly session: Session;
  readonly action: Action;
  readonly needs: Right;
  /** The site for `{site}` in the path. @throws ProblemError `not-found`, also if the operator can't manage it */
  site(): Promise<SiteRecord>;
  sites(): Promise<readonly SiteRecord[]>;
  /** Doesn't check the members of the body. @throws ProblemError `bad-request` if it isn't a JSON object */
  input<Body>(): Promise<ReceivedBody<Body>>;
}

/** Returns what to send as JSON, or a file. */
type ActionHandler = (call: ActionContext) => Promise<object | FileContent>;

/** A file to download. */
export interface FileContent extends AdminContent {
  readonly isFile: true;
}

/** `needs` is the right it takes. Actions that affect the whole server are only for operators of all sites. */
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

/** A repeated write gets its first response. @throws ProblemError */
async function respondToAction(
  action: Action,
  context: AdminRequestContext,
  { dependencies, responses, bodies, reads }: SharedByActions,
): Promise<AdminContent> {
  const [method] = action;
  const { request } = context;
  const session = await requireRight(request, action, dependencies);
  if (method === "GET") return reads.run({ request, session }, () => runAction(action, context, dependencies));
  // `runAction` checks the operator again, because the body may take long to arrive.
  await bodies.waitForBody(session.operator.ID, request);
  return runAction(action, context, dependencies, responses);
}

/** @param responses only for writes */
async function runAction(
  action: Action,
  context: AdminRequestContext,
  dependencies: ActionDependencies,
  responses?: IdempotentResponses,
): Promise<AdminContent> {
  const { engine } = dependencies;
  const { request, parameters } = context;
  const [, , needs, run, onlyFor] = action;
  const session = await requireRight(request, action, dependencies);
  if (onlyFor === "operators of all sites") requireOperatorOfAllSites({ ...dependencies, request, session, action });
  const { operator } = session;
  const runId = randomText(8);
  const call: ActionContext = {
    ...dependencies,
    ...context,
    engine: withActor(engine, consoleActor(operator.Name), runId),
    run: runId,
    session,
    action,
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
    // Suggesting a similar name would give away the names of sites the operator can't manage.
    if (error instanceof UnknownSiteError && operator.siteNames) throw new UnknownSiteError(parameters.site ?? "");
    throw error;
  }
}

type RefusedCall = SessionDependencies & Pick<ActionContext, "request" | "session" | "action">;

export function requireOperatorOfAllSites(call: RefusedCall): void {
  if (call.session.operator.siteNames === undefined) return;
  throw refuse(call, "all-sites", "only operators of all sites can do this");
}

/** Also records it in the audit log, which nobody waits for. @param needs the right it takes */
function refuse(call: RefusedCall, needs: Right | "all-sites", message: string): ProblemError {
  const { request, session, action, repeatedEvents } = call;
  const { ID, Name } = session.operator;
  // With the path's pattern, because the path can be anything.
  const name = `${action[0]} ${action[1]}`;
  const address = browserAddress(call, request);
  void repeatedEvents.add({ kind: "refused-action", operator: ID, name, detail: needs, address }, consoleActor(Name));
  return new ProblemError("forbidden", message);
}

const whatRightsAllow: Readonly<Record<Right, string>> = {
  read: "see this",
  "read-settings": "see keys, webhooks and operators",
  records: "change records",
  settings: "change keys, webhooks, sites and operators",
};

/** @throws ProblemError `unauthorized`, `forbidden`, or like `requireOwnPage` */
async function requireRight(request: WireRequest, action: Action, dependencies: ActionDependencies): Promise<Session> {
  const [, , needs] = action;
  const session = await requireSession(request, dependencies);
  requireOwnPage(request, session.operator);
  if (hasRight(session.operator, needs)) return session;
  const hint = "ask an admin to change it";
  const message = `your role doesn't let you ${whatRightsAllow[needs]}; ${hint}`;
  throw refuse({ ...dependencies, request, session, action }, needs, message);
}

/**
 * Runs an action once for each `Idempotency-Key`. A repeated request gets the first response.
 * @throws ProblemError `not-found` if the operator can no longer manage the response's site
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
  // This is about the site that the action used, not the name in the path. It may have been renamed, or removed by this very request.
  if (site !== undefined && !canManage(operator, site)) throw new UnknownSiteError(call.parameters.site ?? "");
  return content;
}

/** Only the same if method, target, media type and body are. */
async function requestFingerprint(request: WireRequest): Promise<string> {
  const { method, target, headers } = request;
  const body = Bun.SHA256.hash((await request.readBody()).view, "hex");
  return JSON.stringify([method, target, headers.get("content-type"), body]);
}

/** @throws UnknownSiteError if the site doesn't exist, or the operator can't manage it */
async function siteOf(engine: Engine, { operator }: Session, name: string): Promise<SiteRecord> {
  if (operator.siteNames) {
    // Operators mustn't find out about sites they can't manage.
    const managed = managedSites(operator, await listSites(engine));
    if (!managed.some(({ Name }) => Name === name)) throw new UnknownSiteError(name);
  }
  const site = await getSite(engine, name);
  // Another site may just have been given this name.
  if (!canManage(operator, site)) throw new UnknownSiteError(name);
  return site;
}

const compress = promisify(gzip);

/**
 * Shorter responses aren't compressed. That includes all responses with a secret. A list of 1,000 sites has 138,000 characters, and compresses to 12,000
 * bytes.
 */
const minCompressedChars = 16_000;

async function toContent(result: object | FileContent, { request }: AdminRequestContext): Promise<AdminContent> {
  if ("isFile" in result) return result;
  const body = JSON.stringify(result);
  const headers = { "Content-Type": "application/json" };
  const coding = preferredCoding(request.headers.get("accept-encoding"), ["gzip"]);
  if (body.length < minCompressedChars || coding === undefined) return { body, headers };
  // On another thread, because a list of 10,000 sites would block this one for 8 ms.
  return { body: await compress(body, { level: 1 }), headers: { ...headers, "Content-Encoding": coding } };
}
