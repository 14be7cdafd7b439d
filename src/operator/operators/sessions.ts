// Signs operators in to the console: a link starts a session, once (contract section 13). The database only has digests of the secrets.

import { randomText } from "../../lib/text.ts";
import type { Credential } from "../../model/credentials.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import type { SystemRecords } from "../../system/system-records.ts";
import { recordEvent } from "../journal/events.ts";
import { findOperator, type ListedOperator, requireOperator } from "./operators.ts";

const linkLifetimeMs = 10 * 60_000;

const hourMs = 60 * 60_000;

/** How long a session lasts. */
const sessionMs = { link: 12 * hourMs, "break-glass": hourMs };

/** 32 letters and digits are 190 random bits. */
const secretLength = 32;

/** A browser's session. */
interface SignedIn {
  readonly secret: string;
  /** What started the session. */
  readonly by: keyof typeof sessionMs;
  readonly operator: ListedOperator;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * Returns the link's secret.
 * @param kind a break-glass link also works if ordinary ones are turned off, or the operator otherwise uses single sign-on
 * @throws ProblemError `not-found`, or `conflict` if the operator can't use an ordinary link
 */
export async function createSignInLink(
  engine: Engine,
  name: string,
  now: number,
  kind: "link" | "break-glass" = "link",
): Promise<string> {
  const { ID, Subject } = requireOperator(await readSystemRecords(engine), name);
  if (kind === "link" && Subject !== "")
    throw new ProblemError(
      "conflict",
      `${name} signs in with single sign-on; if the provider is down, use \`storefront operator link ${name} --break-glass\``,
    );
  const secret = randomText(secretLength);
  await engine.saveCredential(toCredential(secret, kind, ID, now + linkLifetimeMs), now);
  await recordEvent(engine, { kind: "link", operator: ID, name, detail: kind }, now);
  return secret;
}

/** Also invalidates unused links. @throws ProblemError `not-found` */
export async function signOutEverywhere(engine: Engine, name: string, now: number): Promise<void> {
  const { ID } = requireOperator(await readSystemRecords(engine), name);
  await engine.deleteCredentials(ID);
  await recordEvent(engine, { kind: "sign-out", operator: ID, name, detail: "everywhere" }, now);
}

/** Uses up a link and starts a session. @throws ProblemError `unauthorized` if the secret is unknown, used, too old or turned off */
export async function signIn(engine: Engine, linkSecret: string, now: number, allowsLinks = true): Promise<SignedIn> {
  const digest = digestOfSecret(linkSecret);
  // Reads first, so that an invalid link doesn't cause a write.
  const { operator, by } = await getOperatorOfLink(engine, linkSecret, now, allowsLinks);
  const lifetimeMs = sessionMs[by];
  const secret = await startSession(engine, operator.ID, lifetimeMs, now);
  // The session is stored before the link is consumed, so that the link still works if that write fails. Signing out everywhere in between deletes both.
  if (await engine.consumeCredential(digest)) return { secret, by, operator, expiresAt: now + lifetimeMs };
  await signOutSession(engine, secret);
  throw unusableLinkError();
}

/** Returns a session's secret. @param lifetime in milliseconds */
export async function startSession(engine: Engine, operator: number, lifetime: number, now: number): Promise<string> {
  const secret = randomText(secretLength);
  await engine.saveCredential(toCredential(secret, "session", operator, now + lifetime), now);
  return secret;
}

/** Says who a link would sign in, without using it up. @throws ProblemError `unauthorized`, as for `signIn` */
export async function getOperatorOfLink(
  engine: Engine,
  linkSecret: string,
  now: number,
  allowsLinks: boolean,
): Promise<Pick<SignedIn, "operator" | "by">> {
  const link = await engine.findCredential(digestOfSecret(linkSecret));
  if (!link || link.kind === "session" || now >= link.expiresAt) throw unusableLinkError();
  if (link.kind === "link" && !allowsLinks)
    throw new ProblemError(
      "unauthorized",
      "sign-in links are turned off here; use single sign-on, or `storefront operator link` with --break-glass",
    );
  const operator = findOperator(await readSystemRecords(engine), link.operator);
  if (operator) return { operator, by: link.kind };
  throw unusableLinkError();
}

function unusableLinkError(): ProblemError {
  return new ProblemError(
    "unauthorized",
    "this link has expired or was already used; ask for a new one, or create one with `storefront operator link`",
  );
}

/** Undefined if the session is unknown or has ended. Has no operator if they've been removed since. @param system must be up to date */
export async function findSession(
  engine: Engine,
  system: Pick<SystemRecords, "sites" | "operators">,
  secret: string,
  now: number,
): Promise<{ readonly operator: ListedOperator | undefined; readonly expiresAt: number } | undefined> {
  const session = await engine.findCredential(digestOfSecret(secret));
  if (session?.kind !== "session" || now >= session.expiresAt) return undefined;
  return { operator: findOperator(system, session.operator), expiresAt: session.expiresAt };
}

export async function signOutSession(engine: Engine, secret: string): Promise<void> {
  await engine.consumeCredential(digestOfSecret(secret));
}

function toCredential(secret: string, kind: Credential["kind"], operator: number, expiresAt: number): Credential {
  return { digest: digestOfSecret(secret), kind, operator, expiresAt };
}

function digestOfSecret(secret: string): string {
  return Bun.SHA256.hash(secret, "hex");
}
