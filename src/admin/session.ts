// Signs operators in to the console and out again (contract section 13). The session is in a cookie that browsers only send with requests from this
// listener's own pages.

import { isIP } from "node:net";
import type { Logger } from "pino";
import { forwardedFor } from "../http/common/client-network.ts";
import { randomText } from "../lib/text.ts";
import { type Limit, TokenBuckets } from "../lib/token-buckets.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { rightsOf } from "../model/operator-role.ts";
import { systemSite } from "../model/system-site.ts";
import { consoleActor, recordEvent, recordSignIn } from "../operator/journal/events.ts";
import type { ListedOperator } from "../operator/operators/operators.ts";
import {
  findSession,
  getOperatorOfLink,
  signIn,
  signOutEverywhere,
  signOutSession,
} from "../operator/operators/sessions.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { SiteViews } from "../store/reads/site-views.ts";
import { sitesAndOperatorsIn } from "../system/read-system-records.ts";
import type { OperatorRecord, SystemRecords } from "../system/system-records.ts";
import { withActor } from "../system/with-actor.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import type { WireRequest } from "../wire/request.ts";
import type { SessionInfo, SessionResponse, SignInBody, SignInWaysInfo } from "./api/types.ts";
import { SignInBodies } from "./awaited-bodies.ts";
import type { AdminContent, AdminRoute } from "./handler.ts";
import { parseText, type ReceivedBody, readJsonObject } from "./json-body.ts";
import type { RepeatedEvents } from "./repeated-events.ts";
import type { SingleSignOn } from "./single-sign-on.ts";

export interface Session {
  readonly operator: ListedOperator;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
  /** Operator and site IDs are only unique within this epoch. After a restore, IDs assigned since the backup are assigned again. */
  readonly systemEpoch: string;
}

export interface SessionDependencies {
  readonly engine: Engine;
  readonly siteViews: SiteViews;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly repeatedEvents: RepeatedEvents;
  /** Whether a proxy adds the client's address to `X-Forwarded-For`. */
  readonly trustProxy: boolean;
}

/** For the audit log. Always has the connection's own address too, because a client could forge the header. */
export function browserAddress({ trustProxy }: Pick<SessionDependencies, "trustProxy">, request: WireRequest): string {
  const { address } = request;
  const client = forwardedFor(request, trustProxy) ?? "";
  // A zone, as in `fe80::1%eth0`, could be so long that the connection's address is cut off.
  return isIP(client) !== 0 && !client.includes("%") ? `${client} via ${address}` : address;
}

/** For failed sign-ins of all clients together. It's only there to limit the work, because links are too long to guess. */
const failedSignInLimit: Limit = { tokensPerSecond: 0.2, maxTokens: 20 };

/** Of a sign-in request. */
const maxSignInBytes = 512;

/** How operators can sign in to this server. */
interface SignInOptions {
  /** Undefined if it isn't set up. */
  readonly singleSignOn: SingleSignOn | undefined;
  readonly allowsLinks: boolean;
  readonly log: Logger;
}

interface SessionContext extends SessionDependencies, SignInOptions {
  /** @param operator ID. @param isEverywhere whether they've signed out of all devices, or just of one browser */
  readonly onSignOut: (operator: number, isEverywhere: boolean) => Promise<void>;
  readonly buckets: TokenBuckets<"sign-in">;
  readonly bodies: SignInBodies;
}

/** `/operator/session` signs in and out in this browser, and `/operator/sessions` signs out of all devices. */
export function sessionRoutes(
  dependencies: SessionDependencies & SignInOptions,
  onSignOut: SessionContext["onSignOut"],
): [path: string, route: AdminRoute][] {
  const context: SessionContext = {
    ...dependencies,
    onSignOut,
    buckets: new TokenBuckets<"sign-in">(),
    bodies: new SignInBodies(),
  };
  return [
    [
      "/operator/session",
      {
        // Even without a session, the status is 200, because browsers report 401 as an error on the page.
        async GET({ request }) {
          const { session, isRevoked } = await findRequestSession(request, dependencies);
          return toSessionContent(session, dependencies, isRevoked);
        },
        POST: ({ request }) => respondToSignIn(request, context),
        async DELETE({ request }) {
          const { session } = await findRequestSession(request, dependencies);
          if (session) {
            requireOwnPage(request, session.operator);
            await endSessionsOf(request, session, context);
          }
          return signedOutResponse(request);
        },
      },
    ],
    [
      "/operator/sessions",
      {
        async DELETE({ request }) {
          const { operator } = await requireSession(request, dependencies);
          requireOwnPage(request, operator);
          const actor = consoleActor(operator.Name);
          await signOutEverywhere(
            withActor(dependencies.engine, actor, randomText(8)),
            operator.Name,
            dependencies.now(),
          );
          await onSignOut(operator.ID, true);
          return signedOutResponse(request);
        },
      },
    ],
  ];
}

/** The body has a `link`, and `insteadOf` to replace the session of the operator with that ID. */
async function respondToSignIn(request: WireRequest, context: SessionContext): Promise<AdminContent> {
  const { engine, now, bodies, allowsLinks, log } = context;
  const input = await bodies.withBodyTimeout(readJsonObject<SignInBody>(request, maxSignInBytes));
  const link = parseText(input, "link");
  const { session: present } = await findRequestSession(request, context);
  const address = browserAddress(context, request);
  const { secret, by, ...session } = await limitFailedSignIns(address, context, async () => {
    if (present) await requireAgreement(present, link, input, context);
    return signIn(engine, link, now(), allowsLinks);
  });
  await recordSignIn(engine, { operator: session.operator, way: by, address }, now());
  if (present && present.operator.ID !== session.operator.ID) await endSessionsOf(request, present, context);
  if (by === "break-glass") log.warn({ operator: session.operator.Name, address }, "signed in with a break-glass link");
  const content = toSessionContent(session, context);
  const isSecure = request.headers.get("origin")?.startsWith("https:");
  const cookie = toCookie(cookieName(request.headers), secret, session.expiresAt - now(), isSecure);
  return { ...content, headers: { ...content.headers, "Set-Cookie": cookie } };
}

async function endSessionsOf(
  { headers }: WireRequest,
  { operator }: Session,
  { engine, onSignOut, now }: SessionContext,
): Promise<void> {
  // `onSignOut` goes first, because it lets running imports continue without the session. Otherwise, their next check would stop them.
  await onSignOut(operator.ID, false);
  for (const secret of secretsIn(headers)) await signOutSession(engine, secret);
  const { ID, Name } = operator;
  await recordEvent(engine, { kind: "sign-out", operator: ID, name: Name }, now(), { actor: consoleActor(Name) });
}

export async function requireSession(request: WireRequest, dependencies: SessionDependencies): Promise<Session> {
  const { session, isRevoked } = await findRequestSession(request, dependencies);
  if (session) return session;
  const advice = "sign in with a link from `storefront operator link`";
  throw new ProblemError("unauthorized", isRevoked ? "your access was revoked; ask an admin of all sites" : advice);
}

/**
 * To replace another operator's session, a request must say so (`insteadOf`). Otherwise, a link from someone else could make people work under another
 * name without noticing. Doesn't use the link up.
 * @throws ProblemError `conflict` with `X-Operator`, the current operator's ID; `unauthorized` for an unusable link
 */
async function requireAgreement(
  { operator }: Session,
  link: string,
  input: ReceivedBody<SignInBody>,
  { engine, now, allowsLinks }: SessionContext,
): Promise<void> {
  const { operator: other } = await getOperatorOfLink(engine, link, now(), allowsLinks);
  if (other.ID === operator.ID || input.insteadOf === operator.ID) return;
  throw new ProblemError(
    "conflict",
    `you're signed in as ${operator.Name}, but this link is for ${other.Name}`,
    toOperatorHeader(operator),
  );
}

interface FoundSession {
  readonly session?: Session;
  /** Whether the request has the cookie of a session whose operator was removed. Nobody else can find that out. */
  readonly isRevoked?: boolean;
}

async function findRequestSession(
  { headers }: WireRequest,
  { engine, siteViews, now }: SessionDependencies,
): Promise<FoundSession> {
  const secrets = secretsIn(headers);
  const snapshot = secrets.length > 0 ? await readSystemSnapshot(siteViews) : undefined;
  let isRevoked = false;
  for (const secret of secrets) {
    const found = snapshot && (await findSession(engine, sitesAndOperatorsIn(snapshot), secret, now()));
    if (!found) continue;
    const { operator, expiresAt } = found;
    if (operator) return { session: { operator, expiresAt, systemEpoch: snapshot.epoch } };
    isRevoked = true;
  }
  return { isRevoked };
}

export async function readSitesAndOperators(siteViews: SiteViews): Promise<Pick<SystemRecords, "sites" | "operators">> {
  return sitesAndOperatorsIn(await readSystemSnapshot(siteViews));
}

async function readSystemSnapshot(siteViews: SiteViews): Promise<Snapshot> {
  return (await siteViews.getUpToDate(systemSite)) as Snapshot;
}

/** Records failures. @throws ProblemError `too-many-requests` instead of `unauthorized` after too many of them */
async function limitFailedSignIns<T>(
  address: string,
  { buckets, now, repeatedEvents }: Pick<SessionContext, "buckets" | "now" | "repeatedEvents">,
  attempt: () => Promise<T>,
): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "unauthorized") throw error;
    // Nobody waits for it, so that a stranger can't tell how long it took.
    void repeatedEvents.add({ kind: "refused-sign-in", address }, "console");
    if (buckets.consumeToken("sign-in", failedSignInLimit, now()) !== undefined) throw error;
    throw new ProblemError("too-many-requests", "too many failed sign-ins; try again in a minute", {
      retryAfterSeconds: 60,
    });
  }
}

function toSessionContent(
  session: Omit<Session, "systemEpoch"> | undefined,
  { singleSignOn, allowsLinks }: SignInOptions,
  isRevoked = false,
): AdminContent {
  const ways: SignInWaysInfo = {
    singleSignOn: singleSignOn !== undefined,
    signOutUrl: singleSignOn?.signOutUrl ?? null,
    links: allowsLinks,
  };
  const operator: SessionInfo | { operator: null; isRevoked: boolean } = session
    ? {
        id: session.operator.ID,
        operator: session.operator.Name,
        sites: session.operator.siteNames ?? null,
        role: session.operator.role,
        rights: rightsOf(session.operator.role),
        expires: new Date(session.expiresAt).toISOString(),
      }
    : { operator: null, isRevoked };
  const shown: SessionResponse = { ...operator, ways };
  return { body: JSON.stringify(shown), headers: { "Content-Type": "application/json" } };
}

function signedOutResponse({ headers }: WireRequest): AdminContent {
  return { status: 204, body: null, headers: { "Set-Cookie": toCookie(cookieName(headers), "", 0) } };
}

/** Has the port in it, because browsers send a cookie to all ports of a host (RFC 6265 section 8.5). */
export function cookieName(headers: HeaderFields): string {
  const port = /:([0-9]+)$/.exec(headers.get("host") ?? "")?.[1] ?? "default";
  return `storefront_${port}`;
}

/** @param lifetime in milliseconds; 0 deletes the cookie */
export function toCookie(name: string, value: string, lifetime: number, isSecure = false, sameSite = "Strict"): string {
  const secure = isSecure ? "; Secure" : "";
  return `${name}=${value}; Path=/; Max-Age=${Math.ceil(lifetime / 1000)}; HttpOnly; SameSite=${sameSite}${secure}`;
}

/** How many cookies with the same name we read. */
const maxCookies = 4;

export function hasSessionCookie(headers: HeaderFields): boolean {
  return secretsIn(headers).length > 0;
}

/**
 * Secrets of 32 characters in cookies with the name, by default the session's. There may be several, because another server on the same host can add
 * cookies (RFC 6265 section 8.6). A comma doesn't end one, or those servers could put a cookie with a protected name into the value of another.
 */
export function secretsIn(headers: HeaderFields, name = cookieName(headers)): string[] {
  const cookies = (headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  const own = cookies.filter((cookie) => cookie.startsWith(`${name}=`)).map((cookie) => cookie.slice(name.length + 1));
  return own.filter((value) => /^[0-9A-Za-z]{32}$/.test(value)).slice(0, maxCookies);
}

// All tabs of a browser share the session cookie. So one operator's page may still be open when another signs in, and it mustn't change anything in the
// other's name.

/** An operator ID: in a request, whose page it is; in a 409 response, who's signed in. */
const operatorField = "X-Operator";

/**
 * Fails unless the request comes from the signed-in operator's page. Reads don't need the header, because links to files can't send it.
 * @throws ProblemError `conflict` with the header if it's another operator's page, `bad-request` for a change without the header
 */
export function requireOwnPage({ method, headers }: WireRequest, operator: OperatorRecord): void {
  const shown = headers.get(operatorField.toLowerCase());
  if (shown === String(operator.ID)) return;
  if (shown === null) {
    if (method === "GET" || method === "HEAD") return;
    throw new ProblemError("bad-request", `send \`${operatorField}\` with the ID of the operator whose page this is`);
  }
  throw new ProblemError(
    "conflict",
    `nothing was changed: someone else opened this page, and ${operator.Name} is now signed in in this browser`,
    toOperatorHeader(operator),
  );
}

/** For the options of a ProblemError. */
function toOperatorHeader({ ID }: OperatorRecord): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { [operatorField]: String(ID) } };
}
