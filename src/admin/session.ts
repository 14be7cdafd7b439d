// Signs operators in to the console and out again (contract section 13). The session is a cookie that browsers send only for requests of this
// listener's own pages.

import { type Limit, TokenBuckets } from "../lib/token-buckets.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import { rightsOf } from "../model/operator-role.ts";
import { systemSite } from "../model/system-site.ts";
import type { ListedOperator } from "../operator/operators/operators.ts";
import {
  findSession,
  getOperatorOfLink,
  sessionLifetimeMs,
  signIn,
  signOutEverywhere,
  signOutSession,
} from "../operator/operators/sessions.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { SiteViews } from "../store/reads/site-views.ts";
import { sitesAndOperatorsIn } from "../system/read-system-records.ts";
import type { OperatorRecord, SystemRecords } from "../system/system-records.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import type { WireRequest } from "../wire/request.ts";
import type { SessionResponse, SignInBody } from "./api/types.ts";
import { SignInBodies } from "./awaited-bodies.ts";
import type { AdminContent, AdminRoute } from "./handler.ts";
import { parseText, type ReceivedBody, readJsonObject } from "./json-body.ts";

export interface Session {
  readonly operator: ListedOperator;
  /** Time at which the session ends, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** The epoch in which the IDs of operators and sites are unique. After a restore, an ID that was given since the backup is given again. */
  readonly systemEpoch: string;
}

export interface SessionDependencies {
  readonly engine: Engine;
  readonly siteViews: SiteViews;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
}

/** Limit of failed sign-ins, for all clients together. It only limits the work, because a link is too long to be guessed. */
const failedSignInLimit: Limit = { tokensPerSecond: 0.2, maxTokens: 20 };

/** Maximum bytes in the body of a sign-in request. */
const maxSignInBytes = 512;

interface SessionContext extends SessionDependencies {
  /** Called with the ID of an operator who signs out in one browser (`isEverywhere` false) or everywhere. */
  readonly onSignOut: (operator: number, isEverywhere: boolean) => Promise<void>;
  readonly buckets: TokenBuckets<"sign-in">;
  readonly bodies: SignInBodies;
}

/** Creates two routes: `/operator/session` signs in and out in this browser, `/operator/sessions` ends all sessions of an operator. */
export function sessionRoutes(
  dependencies: SessionDependencies,
  onSignOut: SessionContext["onSignOut"],
): [path: string, route: AdminRoute][] {
  const context = { ...dependencies, onSignOut, buckets: new TokenBuckets<"sign-in">(), bodies: new SignInBodies() };
  return [
    [
      "/operator/session",
      {
        // Without a session, respond with 200 instead of 401, because browsers report a 401 as an error of the page.
        GET: async ({ request }) => toSessionContent(await findRequestSession(request, dependencies)),
        POST: ({ request }) => respondToSignIn(request, context),
        async DELETE({ request }) {
          const session = await findRequestSession(request, dependencies);
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
          await signOutEverywhere(dependencies.engine, operator.Name);
          await onSignOut(operator.ID, true);
          return signedOutResponse(request);
        },
      },
    ],
  ];
}

/** Signs in. The body has `link`, and may have `insteadOf`: the ID of the present operator, if the link replaces that operator's session. */
async function respondToSignIn(request: WireRequest, context: SessionContext): Promise<AdminContent> {
  const { engine, now, buckets, bodies } = context;
  const input = await bodies.withBodyTimeout(readJsonObject<SignInBody>(request, maxSignInBytes));
  const link = parseText(input, "link");
  const present = await findRequestSession(request, context);
  const { secret, ...session } = await limitFailedSignIns(buckets, now(), async () => {
    if (present) await requireAgreement(present, link, input, context);
    return signIn(engine, link, now());
  });
  if (present && present.operator.ID !== session.operator.ID) await endSessionsOf(request, present, context);
  const content = toSessionContent(session);
  const cookie = toCookie(request.headers, secret, sessionLifetimeMs);
  return { ...content, headers: { ...content.headers, "Set-Cookie": cookie } };
}

async function endSessionsOf(
  { headers }: WireRequest,
  { operator }: Session,
  { engine, onSignOut }: SessionContext,
): Promise<void> {
  // Call `onSignOut` before the session ends. It marks the running imports, which then continue without the session. Otherwise their next check of the
  // session would stop them.
  await onSignOut(operator.ID, false);
  for (const secret of sessionSecretsIn(headers)) await signOutSession(engine, secret);
}

export async function requireSession(request: WireRequest, dependencies: SessionDependencies): Promise<Session> {
  const session = await findRequestSession(request, dependencies);
  if (session) return session;
  throw new ProblemError("unauthorized", "sign in with a link that `storefront operator link` prints");
}

/**
 * Requires that a request which replaces another operator's session names that operator (`insteadOf`). Otherwise a link from someone else could make
 * this browser work under another name without notice. Does not consume the link.
 * @throws ProblemError `conflict` with `X-Operator`: the ID of the present operator; `unauthorized` for a link that cannot be used
 */
async function requireAgreement(
  { operator }: Session,
  link: string,
  input: ReceivedBody<SignInBody>,
  { engine, now }: SessionDependencies,
): Promise<void> {
  const other = await getOperatorOfLink(engine, link, now());
  if (other.ID === operator.ID || input.insteadOf === operator.ID) return;
  throw new ProblemError(
    "conflict",
    `this browser is signed in as ${operator.Name}, and the link signs in as ${other.Name}`,
    toOperatorHeader(operator),
  );
}

async function findRequestSession(
  { headers }: WireRequest,
  { engine, siteViews, now }: SessionDependencies,
): Promise<Session | undefined> {
  const secrets = sessionSecretsIn(headers);
  const snapshot = secrets.length > 0 ? await readSystemSnapshot(siteViews) : undefined;
  for (const secret of secrets) {
    const session = snapshot && (await findSession(engine, sitesAndOperatorsIn(snapshot), secret, now()));
    if (session) return { ...session, systemEpoch: snapshot.epoch };
  }
  return undefined;
}

export async function readSitesAndOperators(siteViews: SiteViews): Promise<Pick<SystemRecords, "sites" | "operators">> {
  return sitesAndOperatorsIn(await readSystemSnapshot(siteViews));
}

async function readSystemSnapshot(siteViews: SiteViews): Promise<Snapshot> {
  return (await siteViews.getUpToDate(systemSite)) as Snapshot;
}

/** Runs an attempt to sign in, and counts a failure. @throws ProblemError `too-many-requests` instead of `unauthorized` after too many failures */
async function limitFailedSignIns<T>(
  buckets: TokenBuckets<"sign-in">,
  now: number,
  attempt: () => Promise<T>,
): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "unauthorized") throw error;
    if (buckets.consumeToken("sign-in", failedSignInLimit, now) !== undefined) throw error;
    throw new ProblemError("too-many-requests", "too many attempts to sign in failed; try again in a minute", {
      retryAfterSeconds: 60,
    });
  }
}

function toSessionContent(session: Omit<Session, "systemEpoch"> | undefined): AdminContent {
  const shown: SessionResponse = session
    ? {
        id: session.operator.ID,
        operator: session.operator.Name,
        sites: session.operator.siteNames ?? null,
        role: session.operator.role,
        rights: rightsOf(session.operator.role),
        expires: new Date(session.expiresAt).toISOString(),
      }
    : { operator: null };
  return { body: JSON.stringify(shown), headers: { "Content-Type": "application/json" } };
}

function signedOutResponse({ headers }: WireRequest): AdminContent {
  return { status: 204, body: null, headers: { "Set-Cookie": toCookie(headers, "", 0) } };
}

/** Returns the name of the cookie. It contains the port, because browsers send a cookie to all ports of a host (RFC 6265 section 8.5). */
function cookieName(headers: HeaderFields): string {
  const port = /:([0-9]+)$/.exec(headers.get("host") ?? "")?.[1] ?? "default";
  return `storefront_${port}`;
}

/** Formats a `Set-Cookie` field. @param lifetime in milliseconds; 0 deletes the cookie */
function toCookie(headers: HeaderFields, value: string, lifetime: number): string {
  const secure = headers.get("origin")?.startsWith("https:") ? "; Secure" : "";
  const name = cookieName(headers);
  return `${name}=${value}; Path=/; Max-Age=${lifetime / 1000}; HttpOnly; SameSite=Strict${secure}`;
}

/** Maximum number of cookies of one name that are read. */
const maxCookies = 4;

export function hasSessionCookie(headers: HeaderFields): boolean {
  return sessionSecretsIn(headers).length > 0;
}

/** Returns the secrets in the cookies of this name. There may be several: another server of this host can add cookies (RFC 6265 section 8.6). */
function sessionSecretsIn(headers: HeaderFields): string[] {
  const beginning = `${cookieName(headers)}=`;
  const cookies = (headers.get("cookie") ?? "").split(/[;,]/).map((cookie) => cookie.trim());
  const own = cookies.filter((cookie) => cookie.startsWith(beginning)).map((cookie) => cookie.slice(beginning.length));
  return own.filter((value) => /^[0-9A-Za-z]{32}$/.test(value)).slice(0, maxCookies);
}

// All tabs of a browser share the session cookie. So a page of one operator may still be open when another operator signs in, and it must not make
// changes in the name of the second.

/** The header field with an ID of an operator: in a request, the operator of the page; in a response 409, the signed-in operator. */
const operatorField = "X-Operator";

/**
 * Requires that a request comes from a page of the signed-in operator. The field is required for a change. It is optional for a read, because
 * links to files cannot send it.
 * @throws ProblemError `conflict` with the field for a page of another operator, `bad-request` for a change without the field
 */
export function requireOwnPage({ method, headers }: WireRequest, operator: OperatorRecord): void {
  const shown = headers.get(operatorField.toLowerCase());
  if (shown === String(operator.ID)) return;
  if (shown === null) {
    if (method === "GET" || method === "HEAD") return;
    throw new ProblemError(
      "bad-request",
      `a change must say whose page it is: send \`${operatorField}\` with the ID of the operator`,
    );
  }
  throw new ProblemError(
    "conflict",
    `this page belongs to another operator than ${operator.Name}, who is signed in in this browser now; nothing was changed`,
    toOperatorHeader(operator),
  );
}

/** Returns the options of a ProblemError that contain the ID of the signed-in operator. */
function toOperatorHeader({ ID }: OperatorRecord): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { [operatorField]: String(ID) } };
}
