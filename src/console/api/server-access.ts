// Whether this page can use the server, which has to respond and to have the page's operator signed in. Requests report changes to this, and wait
// until the access is `open` again.

import type { SessionResponse, SignInWaysInfo } from "../../admin/api/types.ts";
import { translate } from "../text/translate.ts";
import { SharedValue, useSharedValue } from "./shared-value.ts";

/**
 * `gone`: the server can't be reached. `signed-out`: this page's operator is no longer signed in, though another one may be. `revoked`: the operator was
 * removed, so waiting is useless.
 */
type ServerAccess = "open" | "gone" | "signed-out" | "revoked";

const access = new SharedValue<ServerAccess>("open");

export function useServerAccess(): ServerAccess {
  return useSharedValue(access);
}

export function markSignedOut(): void {
  if (access.get() !== "revoked") access.set("signed-out");
}

export function markRevoked(): void {
  access.set("revoked");
}

export function markSignedIn(): void {
  access.set("open");
}

/** Reports that the server couldn't be reached. Probes it until it responds. */
export function markUnreachable(): void {
  if (access.get() === "gone") return;
  access.set("gone");
  void probeUntilBack();
}

/**
 * Resolves when the access is `open`. If the server couldn't be reached before, this only means that some operator is signed in; the next request
 * shows whether it's the page's.
 * @throws Error that says so if the operator was removed
 */
export async function whenOpen(): Promise<void> {
  while (access.get() !== "open") {
    if (access.get() === "revoked") throw new Error(translate("session.revoked"));
    await new Promise<void>((resolve) => {
      const stop = access.subscribe(() => {
        stop();
        resolve();
      });
    });
  }
}

const forbiddenCount = new SharedValue(0);

export function markForbidden(): void {
  forbiddenCount.set(forbiddenCount.get() + 1);
}

/** Calls `listener` whenever a request is rejected because the operator lacks permission. Returns a function that unsubscribes it. */
export function onForbidden(listener: () => void): () => void {
  return forbiddenCount.subscribe(listener);
}

/** Milliseconds before the first probe. The pause grows up to the maximum below. */
const firstPauseMs = 1000;
const maxPauseMs = 5000;

async function probeUntilBack(): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 1.5)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const session = await probe();
    if (session) return access.set(session.operator === null ? "signed-out" : "open");
  }
}

const ways = new SharedValue<SignInWaysInfo>({ singleSignOn: false, signOutUrl: null, links: true });

/** How people can sign in, as of the last response about the session. */
export function useSignInWays(): SignInWaysInfo {
  return useSharedValue(ways);
}

export function setSignInWays(known: SignInWaysInfo): void {
  ways.set(known);
}

/** Returns who is signed in, or undefined if the server doesn't respond. */
export async function probe(): Promise<SessionResponse | undefined> {
  try {
    const response = await fetch("/operator/session", { cache: "no-store" });
    if (!response.ok) return undefined;
    const session = await response.json();
    setSignInWays(session.ways);
    return session;
  } catch {
    return undefined;
  }
}
