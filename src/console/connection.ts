// Whether the server responds, and whether the session goes on. Requests report it, and wait until all is well again.

import { useSyncExternalStore } from "react";

/** `gone`: the server cannot be reached. `signed-out`: the operator of this page is no longer signed in; someone else may be. */
type Connection = "open" | "gone" | "signed-out";

let connection: Connection = "open";
const listeners = new Set<() => void>();

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => connection);
}

/** Says that a request was refused because the operator of this page is no longer signed in. */
export function noteSignedOut(): void {
  change("signed-out");
}

/** Says that the operator has signed in again. */
export function noteSignedIn(): void {
  change("open");
}

/** Says that the server could not be reached. It is tried again until it responds. */
export function noteGone(): void {
  if (connection === "gone") return;
  change("gone");
  void untilBack();
}

/** Resolves when the server responds and the operator is signed in. */
export function whenOpen(): Promise<void> {
  if (connection === "open") return Promise.resolve();
  return new Promise((resolve) => {
    const stop = subscribe(() => {
      if (connection !== "open") return;
      stop();
      resolve();
    });
  });
}

/** Milliseconds between two attempts: the first, and the longest. */
const firstPause = 1000;
const maxPause = 5000;

async function untilBack(): Promise<void> {
  for (let pause = firstPause; ; pause = Math.min(maxPause, pause * 1.5)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const session = await probe();
    if (session) return change(session.operator === null ? "signed-out" : "open");
  }
}

/** Who is signed in at the server. */
type Present = { readonly id: number; readonly operator: string } | { readonly operator: null };

/** Reads who is signed in; undefined when the server does not respond. */
export async function probe(): Promise<Present | undefined> {
  try {
    const response = await fetch("/operator/session", { cache: "no-store" });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function change(next: Connection): void {
  connection = next;
  for (const listener of [...listeners]) listener();
}
