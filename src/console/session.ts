// Who is signed in.

import { callApi, type SessionInfo } from "./api.ts";

const linkInHash = /^#sign-in=([0-9A-Za-z]+)$/;

/** The secret of a sign-in link in the address of this page, which is removed from it; undefined if there is none. */
export function takeLink(): string | undefined {
  const [, secret] = linkInHash.exec(location.hash) ?? [];
  if (secret) history.replaceState(null, "", `${location.pathname}${location.search}`);
  return secret;
}

/** Signs in with a link that is pasted as the address of this page, for which the browser does not load the page again. */
window.addEventListener("hashchange", () => {
  if (linkInHash.test(location.hash)) location.reload();
});

/** The secret in a link, or in the part of one that was pasted; undefined when there is none. */
export function secretIn(text: string): string | undefined {
  return /(?:^|sign-in=)([0-9A-Za-z]{32})$/.exec(text.trim())?.[1];
}

export function redeemLink(link: string): Promise<SessionInfo> {
  return callApi("POST", "/session", { link });
}

/** The present session; undefined when nobody is signed in. */
export async function currentSession(): Promise<SessionInfo | undefined> {
  const session = await callApi<SessionInfo | { readonly operator: null }>("GET", "/session");
  return session.operator === null ? undefined : session;
}

export function leave(everywhere: boolean): Promise<void> {
  return callApi("DELETE", everywhere ? "/sessions" : "/session");
}
