// Whether this page can use the server: whether the server responds, and whether the operator of this page is still signed in. Requests report
// changes, and wait until the access is `open` again.

import { SharedValue, useSharedValue } from "./shared-value.ts";

/** `gone`: the server cannot be reached. `signed-out`: the session of this page's operator has ended; another operator may be signed in. */
type ServerAccess = "open" | "gone" | "signed-out";

const access = new SharedValue<ServerAccess>("open");

export function useServerAccess(): ServerAccess {
  return useSharedValue(access);
}

export function markSignedOut(): void {
  access.set("signed-out");
}

export function markSignedIn(): void {
  access.set("open");
}

/** Reports that the server could not be reached. Starts to probe it until it responds. */
export function markUnreachable(): void {
  if (access.get() === "gone") return;
  access.set("gone");
  void untilBack();
}

/**
 * Resolves when the access is `open`. If the server could not be reached before, this only shows that any operator is signed in: the next request
 * shows whether it is the operator of this page.
 */
export function whenOpen(): Promise<void> {
  if (access.get() === "open") return Promise.resolve();
  return new Promise((resolve) => {
    const stop = access.subscribe(() => {
      if (access.get() !== "open") return;
      stop();
      resolve();
    });
  });
}

const forbiddenCount = new SharedValue(0);

export function markForbidden(): void {
  forbiddenCount.set(forbiddenCount.get() + 1);
}

/** Calls `listener` after each request that was rejected because the operator may not make it. Returns a function that ends this. */
export function onForbidden(listener: () => void): () => void {
  return forbiddenCount.subscribe(listener);
}

/** Milliseconds between two probes: the first pause, and the maximum. */
const firstPauseMs = 1000;
const maxPauseMs = 5000;

async function untilBack(): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 1.5)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const session = await probe();
    if (session) return access.set(session.operator === null ? "signed-out" : "open");
  }
}

type SignedInOperator = { readonly id: number; readonly operator: string } | { readonly operator: null };

/** Reads which operator is signed in. Returns undefined if the server does not respond. */
export async function probe(): Promise<SignedInOperator | undefined> {
  try {
    const response = await fetch("/operator/session", { cache: "no-store" });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}
