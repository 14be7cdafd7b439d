// Signs operators in to the console: a link works once and starts a session (contract section 13). The database only has digests of their secrets.

import { randomText } from "../../lib/text.ts";
import type { Credential } from "../../model/credentials.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import type { SystemRecords } from "../../system/system-records.ts";
import { findOperator, type ListedOperator, requireOperator } from "./operators.ts";

const linkLifetimeMs = 10 * 60_000;

export const sessionLifetimeMs = 12 * 60 * 60_000;
/** 32 letters and digits are 190 random bits. */
const secretLength = 32;

/** A browser's session. */
interface SignedIn {
  readonly secret: string;
  readonly operator: ListedOperator;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Returns the link's secret. @throws ProblemError `not-found` */
export async function createSignInLink(engine: Engine, name: string, now: number): Promise<string> {
  const { ID } = requireOperator(await readSystemRecords(engine), name);
  const secret = randomText(secretLength);
  await engine.saveCredential(toCredential(secret, "link", ID, now + linkLifetimeMs), now);
  return secret;
}

/** Also invalidates unused links. @throws ProblemError `not-found` */
export async function signOutEverywhere(engine: Engine, name: string): Promise<void> {
  const { ID } = requireOperator(await readSystemRecords(engine), name);
  await engine.deleteCredentials(ID);
}

/** Uses a link up and starts a session. @throws ProblemError `unauthorized` if the secret is unknown, used or too old */
export async function signIn(engine: Engine, linkSecret: string, now: number): Promise<SignedIn> {
  const digest = digestOfSecret(linkSecret);
  // Reads first, so that an invalid link doesn't cause a write.
  const operator = await getOperatorOfLink(engine, linkSecret, now);
  const secret = randomText(secretLength);
  const expiresAt = now + sessionLifetimeMs;
  await engine.saveCredential(toCredential(secret, "session", operator.ID, expiresAt), now);
  // The session is stored before the link is consumed, so that the link still works if that write fails. Signing out everywhere in between deletes both.
  if (await engine.consumeCredential(digest)) return { secret, operator, expiresAt };
  await signOutSession(engine, secret);
  throw unusableLinkError();
}

/** Says who a link would sign in, without using it up. @throws ProblemError `unauthorized` if the secret is unknown, used or too old */
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
    "this link has expired or was already used; ask for a new one, or create one with `storefront operator link`",
  );
}

/** Undefined if the session is unknown or has ended. @param system must be up to date */
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
