// Who is signed in.

import type { HttpError } from "react-admin";
import { callApi, type SessionInfo } from "./api.ts";

const linkInHash = /^#sign-in=([0-9A-Za-z]+)$/;

let entering: Promise<SessionInfo | undefined> | undefined;

/**
 * Signs in with the link in the address of this page, if there is one; otherwise reads the present session. React may run an effect twice, so callers
 * share an attempt.
 * @param insteadOf ID of the operator whose session the link replaces
 * @returns undefined when nobody is signed in
 * @throws HttpError
 */
export function enter(insteadOf?: number): Promise<SessionInfo | undefined> {
  entering ??= tryToEnter(insteadOf).finally(() => {
    entering = undefined;
  });
  return entering;
}

/** The link stays in the address until the server has decided, so that the page can try again, also after it was loaded again. */
async function tryToEnter(insteadOf: number | undefined): Promise<SessionInfo | undefined> {
  const [, link] = linkInHash.exec(location.hash) ?? [];
  if (!link) return currentSession();
  try {
    const session = await redeemLink(link, insteadOf);
    dropLink();
    return session;
  } catch (error) {
    if (!unusable.has((error as HttpError).status)) throw error;
    dropLink();
    const present = await currentSession();
    if (present) return present;
    throw error;
  }
}

/** The statuses that say that a link cannot be used. 429 follows many links that could not. */
const unusable = new Set([401, 429]);

/** Removes the link from the address. */
export function dropLink(): void {
  history.replaceState(null, "", `${location.pathname}${location.search}`);
}

/** Loads the page without its address, so that the next operator does not see what was searched for. */
export function startAnew(): void {
  location.hash = "";
  location.reload();
}

/** Signs in with a link that is pasted as the address of this page, for which the browser does not load the page again. */
window.addEventListener("hashchange", () => {
  if (linkInHash.test(location.hash)) location.reload();
});

/** The secret in a link, or in the part of one that was pasted; undefined when there is none. */
export function secretIn(text: string): string | undefined {
  return /(?:^|sign-in=)([0-9A-Za-z]{32})$/.exec(text.trim())?.[1];
}

/**
 * Signs in with a link. @param insteadOf ID of the operator whose session it replaces
 * @throws HttpError with the status 409 when someone else is signed in, see `operatorIn`
 */
export function redeemLink(link: string, insteadOf?: number): Promise<SessionInfo> {
  return callApi("POST", "/session", { link, ...(insteadOf === undefined ? {} : { insteadOf }) });
}

/** Returns the ID of the operator who is signed in, if that is why a request was refused. */
export function operatorIn(error: unknown): number | undefined {
  return (error as { readonly body?: { readonly operator?: number } }).body?.operator;
}

/** The present session; undefined when nobody is signed in. */
async function currentSession(): Promise<SessionInfo | undefined> {
  const session = await callApi<SessionInfo | { readonly operator: null }>("GET", "/session");
  return session.operator === null ? undefined : session;
}

export function leave(everywhere: boolean): Promise<void> {
  return callApi("DELETE", everywhere ? "/sessions" : "/session");
}
