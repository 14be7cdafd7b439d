// Signing in to the console and out again (contract section 13). A session is a cookie that only this listener's pages send.

import { Buckets, type Limit } from "../lib/token-buckets.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { systemSite } from "../model/limits.ts";
import {
  beginSession,
  endSession,
  findSession,
  type ListedOperator,
  type OperatorRecord,
  operatorOfLink,
  sessionLifetime,
  signOutEverywhere,
} from "../operator/operators.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { Snapshots } from "../store/reads/site-views.ts";
import { type System, systemOf } from "../system/system-changes.ts";
import type { WireRequest } from "../wire/request.ts";
import type { RequestHeaders } from "../wire/request-header.ts";
import type { AdminContent, AdminRoute } from "./handler.ts";
import { readJsonObject, readText, SignInBodies } from "./json-body.ts";

/** An operator who is signed in. */
export interface Session {
  readonly operator: ListedOperator;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface SessionDependencies {
  readonly engine: Engine;
  readonly snapshots: Snapshots;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Failed sign-ins of all clients together: a link is too long to be guessed, so this only bounds the work. */
const failures: Limit = { rate: 0.2, burst: 20 };

/** Bytes of a request to sign in. */
const maxBody = 512;

/** What the routes of sessions share. */
interface SessionContext extends SessionDependencies {
  /** Is called with the ID of an operator who signs out in one browser, or everywhere. */
  readonly onSignOut: (operator: number, isEverywhere: boolean) => Promise<void>;
  readonly buckets: Buckets<"sign-in">;
  readonly bodies: SignInBodies;
}

/** The path with which sessions begin and end, and that of all sessions of an operator. */
export function sessionRoutes(
  dependencies: SessionDependencies,
  onSignOut: SessionContext["onSignOut"],
): [path: string, route: AdminRoute][] {
  const context = { ...dependencies, onSignOut, buckets: new Buckets<"sign-in">(), bodies: new SignInBodies() };
  return [
    [
      "/operator/session",
      {
        // Not 401: a browser would report that as an error of the page.
        GET: async ({ request }) => toShown(await findOwn(request, dependencies)),
        POST: ({ request }) => signIn(request, context),
        async DELETE({ request }) {
          const session = await findOwn(request, dependencies);
          if (session) {
            requireOwnPage(request, session.operator);
            await endOwn(request, session, context);
          }
          return ended(request);
        },
      },
    ],
    [
      "/operator/sessions",
      {
        async DELETE({ request }) {
          const { operator } = await sessionOf(request, dependencies);
          requireOwnPage(request, operator);
          await signOutEverywhere(dependencies.engine, operator.Name);
          await onSignOut(operator.ID, true);
          return ended(request);
        },
      },
    ],
  ];
}

/** The body has `link`, and may have `insteadOf`: the ID of the operator whose session in this browser the link replaces. */
async function signIn(request: WireRequest, context: SessionContext): Promise<AdminContent> {
  const { engine, now, buckets, bodies } = context;
  const input = await bodies.inTime(readJsonObject(request, maxBody));
  const link = readText(input, "link");
  const present = await findOwn(request, context);
  const { secret, ...session } = await limited(buckets, now(), async () => {
    if (present) await requireAgreed(present, link, input, context);
    return beginSession(engine, link, now());
  });
  if (present && present.operator.ID !== session.operator.ID) await endOwn(request, present, context);
  return withCookie(toShown(session), toCookie(request.headers, secret, sessionLifetime));
}

/** Ends the session of a request. */
async function endOwn(
  { headers }: WireRequest,
  { operator }: Session,
  { engine, onSignOut }: SessionContext,
): Promise<void> {
  // First: what goes on without the session must not find it ended before.
  await onSignOut(operator.ID, false);
  for (const secret of secretsIn(headers)) await endSession(engine, secret);
}

/** The session of a request. @throws Refusal `unauthorized` when it has none that is valid now */
export async function sessionOf(request: WireRequest, dependencies: SessionDependencies): Promise<Session> {
  const session = await findOwn(request, dependencies);
  if (session) return session;
  throw new Refusal("unauthorized", "sign in with a link that `storefront operator link` prints");
}

/**
 * Checks that a session is replaced by that of another operator only if the request names whose session it is. Otherwise a link that someone else
 * sends would change under whose name this browser works. The link is not spent.
 * @throws Refusal `conflict` with `X-Operator`: the ID of the present operator; `unauthorized` for a link that cannot be used
 */
async function requireAgreed(
  { operator }: Session,
  link: string,
  input: object,
  { engine, now }: SessionDependencies,
): Promise<void> {
  const other = await operatorOfLink(engine, link, now());
  if (other.ID === operator.ID || Object(input).insteadOf === operator.ID) return;
  throw new Refusal(
    "conflict",
    `this browser is signed in as ${operator.Name}, and the link signs in as ${other.Name}`,
    toOperatorHeader(operator),
  );
}

async function findOwn(
  { headers }: WireRequest,
  { engine, snapshots, now }: SessionDependencies,
): Promise<Session | undefined> {
  const secrets = secretsIn(headers);
  const system = secrets.length > 0 ? await currentSystem(snapshots) : undefined;
  for (const secret of secrets) {
    const session = system && (await findSession(engine, system, secret, now()));
    if (session) return session;
  }
  return undefined;
}

/** The records of the system site, as new as the store. */
export async function currentSystem(snapshots: Snapshots): Promise<Pick<System, "records">> {
  return systemOf((await snapshots.fresh(systemSite)) as Snapshot);
}

/** Runs an attempt to sign in. @throws Refusal `too-many-requests` after many that failed */
async function limited<T>(buckets: Buckets<"sign-in">, now: number, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "unauthorized") throw error;
    if (buckets.take("sign-in", failures, now) !== undefined) throw error;
    throw new Refusal("too-many-requests", "too many attempts to sign in failed; try again in a minute", {
      retryAfter: 60,
    });
  }
}

function toShown(session: Session | undefined): AdminContent {
  const shown = session && {
    id: session.operator.ID,
    operator: session.operator.Name,
    sites: session.operator.siteNames ?? null,
    expires: new Date(session.expiresAt).toISOString(),
  };
  const body = JSON.stringify(shown ?? { operator: null });
  return { body, headers: { "Content-Type": "application/json" } };
}

function withCookie({ headers, ...content }: AdminContent, cookie: string): AdminContent {
  return { ...content, headers: { ...headers, "Set-Cookie": cookie } };
}

function ended({ headers }: WireRequest): AdminContent {
  return { status: 204, body: null, headers: { "Set-Cookie": toCookie(headers, "", 0) } };
}

/** Cookies do not belong to a port (RFC 6265 section 8.5), so the name has it: several servers may run on one machine. */
function cookieName(headers: RequestHeaders): string {
  const port = /:([0-9]+)$/.exec(headers.get("host") ?? "")?.[1] ?? "default";
  return `storefront_${port}`;
}

/** @param lifetime in milliseconds */
function toCookie(headers: RequestHeaders, value: string, lifetime: number): string {
  const secure = headers.get("origin")?.startsWith("https:") ? "; Secure" : "";
  const name = cookieName(headers);
  return `${name}=${value}; Path=/; Max-Age=${lifetime / 1000}; HttpOnly; SameSite=Strict${secure}`;
}

/** Cookies of one name that are looked at. */
const maxCookies = 4;

/** The secrets in the cookies of this name. Another server of this machine can add one with another path (RFC 6265 section 8.6). */
function secretsIn(headers: RequestHeaders): string[] {
  const beginning = `${cookieName(headers)}=`;
  const cookies = (headers.get("cookie") ?? "").split(/[;,]/).map((cookie) => cookie.trim());
  const own = cookies.filter((cookie) => cookie.startsWith(beginning)).map((cookie) => cookie.slice(beginning.length));
  return own.filter((value) => /^[0-9A-Za-z]{32}$/.test(value)).slice(0, maxCookies);
}

// Whose page a request comes from. The session is a cookie, which all tabs of a browser share: a page that shows one operator may be open when
// another one signs in. It must not make changes in the name of the other.

/** The field with the ID of the operator whom the page shows; in a refusal, of the operator who is signed in. */
const field = "X-Operator";

/**
 * Checks that a request comes from a page of the operator who is signed in. A change has to say whose page it is; a read may, because links to files
 * cannot.
 * @throws Refusal `conflict` with the field for another operator, `bad-request` for a change without the field
 */
export function requireOwnPage({ method, headers }: WireRequest, operator: OperatorRecord): void {
  const shown = headers.get(field.toLowerCase());
  if (shown === String(operator.ID)) return;
  if (shown === null) {
    if (method === "GET" || method === "HEAD") return;
    throw new Refusal(
      "bad-request",
      `a change must say whose page it is: send \`${field}\` with the ID of the operator`,
    );
  }
  throw new Refusal(
    "conflict",
    `this page belongs to another operator than ${operator.Name}, who is signed in in this browser now; nothing was changed`,
    toOperatorHeader(operator),
  );
}

/** The options of a refusal that tell the page who is signed in. */
function toOperatorHeader({ ID }: OperatorRecord): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { [field]: String(ID) } };
}
