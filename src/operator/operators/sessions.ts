// How operators sign in to the console: links that work once, and the sessions that they start (contract section 13). The database has only the digests
// of their secrets.

import { randomText } from "../../lib/text.ts";
import type { Credential } from "../../model/credentials.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import type { SystemRecords } from "../../system/system-records.ts";
import { findOperator, type ListedOperator, requireOperator } from "./operators.ts";

/** Milliseconds in which a link can be used. */
const linkLifetimeMs = 10 * 60_000;
/** Milliseconds after which a session ends. */
export const sessionLifetimeMs = 12 * 60 * 60_000;
/** Letters and digits of a secret: 190 random bits. */
const secretLength = 32;

/** The session of a browser. */
interface SignedIn {
  readonly secret: string;
  readonly operator: ListedOperator;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Creates the secret of a link, which signs in once within `linkLifetimeMs`. @throws ProblemError `not-found` */
export async function createSignInLink(engine: Engine, name: string, now: number): Promise<string> {
  const { ID } = requireOperator(await readSystemRecords(engine), name);
  const secret = randomText(secretLength);
  await engine.saveCredential(toCredential(secret, "link", ID, now + linkLifetimeMs), now);
  return secret;
}

/** Ends the sessions of an operator, and invalidates the operator's unused links. @throws ProblemError `not-found` */
export async function signOutEverywhere(engine: Engine, name: string): Promise<void> {
  const { ID } = requireOperator(await readSystemRecords(engine), name);
  await engine.deleteCredentials(ID);
}

/** Starts a session with the secret of a link. @throws ProblemError `unauthorized` if the secret is unknown, used or too old */
export async function signIn(engine: Engine, linkSecret: string, now: number): Promise<SignedIn> {
  const digest = digestOfSecret(linkSecret);
  // Read before writing, so that an invalid link does not cause a write.
  const operator = await getOperatorOfLink(engine, linkSecret, now);
  const secret = randomText(secretLength);
  const expiresAt = now + sessionLifetimeMs;
  await engine.saveCredential(toCredential(secret, "session", operator.ID, expiresAt), now);
  // Store the session before consuming the link: if the write fails, the link still works. If the operator is signed out everywhere in between, both
  // are deleted.
  if (await engine.consumeCredential(digest)) return { secret, operator, expiresAt };
  await signOutSession(engine, secret);
  throw unusableLinkError();
}

/** Reads which operator a link signs in, without consuming it. @throws ProblemError `unauthorized` if the secret is unknown, used or too old */
export async function getOperatorOfLink(engine: Engine, linkSecret: string, now: number): Promise<ListedOperator> {
  const link = await engine.findCredential(digestOfSecret(linkSecret));
  const operator =
    link && isValid(link, "link", now) ? findOperator(await readSystemRecords(engine), link.operator) : undefined;
  if (operator) return operator;
  throw unusableLinkError();
}

function unusableLinkError(): ProblemError {
  return new ProblemError(
    "unauthorized",
    "this link is unknown, was used already, or is older than 10 minutes; ask for a new one, or make it with `storefront operator link`",
  );
}

/** Finds the operator of a session; undefined if the session is unknown or has ended. @param system the records of the system site, up to date */
export async function findSession(
  engine: Engine,
  system: Pick<SystemRecords, "sites" | "operators">,
  secret: string,
  now: number,
): Promise<Omit<SignedIn, "secret"> | undefined> {
  const session = await engine.findCredential(digestOfSecret(secret));
  if (!session || !isValid(session, "session", now)) return undefined;
  const operator = findOperator(system, session.operator);
  return operator && { operator, expiresAt: session.expiresAt };
}

/** Ends one session. */
export async function signOutSession(engine: Engine, secret: string): Promise<void> {
  await engine.consumeCredential(digestOfSecret(secret));
}

function toCredential(secret: string, kind: Credential["kind"], operator: number, expiresAt: number): Credential {
  return { digest: digestOfSecret(secret), kind, operator, expiresAt };
}

function isValid(credential: Credential, kind: Credential["kind"], now: number): boolean {
  return credential.kind === kind && now < credential.expiresAt;
}

function digestOfSecret(secret: string): string {
  return Bun.SHA256.hash(secret, "hex");
}
