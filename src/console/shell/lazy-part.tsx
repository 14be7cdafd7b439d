// Loads parts of the console when they're first shown. Each is a script of its own.

import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import { markUnreachable, whenOpen } from "../api/server-access.ts";
import { translate } from "../text/translate.ts";
import { notify } from "./notices.tsx";
import { hasUnsaved } from "./unsaved.ts";

const loaders: (() => Promise<unknown>)[] = [];

/** Returns a component that's loaded when it's first shown, or by `preloadParts`. @param load imports the component */
export function lazyPart<Props>(load: () => Promise<ComponentType<Props>>): LazyExoticComponent<ComponentType<Props>> {
  loaders.push(load);
  return lazy(async () => ({ default: await loadPart(load) }));
}

/** Loads all parts one by one, so that they're there when they're needed, even if the server is upgraded or can't be reached by then. */
export async function preloadParts(): Promise<void> {
  for (const load of loaders) await load().catch(() => {});
}

/** Says that the server has another version of the console than this page, so a part can't be loaded. */
export class UpdatedError extends Error {}

const maxAttempts = 3;

/** Waits while the server can't be reached. If it has another version of the console, loads the whole page again. */
async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await load();
    } catch (error) {
      if (await isUpdated()) return reload();
      if (attempt === maxAttempts) throw error;
    }
  }
}

/** Whether the server's page refers to another script than this one. */
async function isUpdated(): Promise<boolean> {
  for (;;) {
    const response = await fetch("/", { cache: "no-store" }).catch(() => undefined);
    if (response?.ok) return !(await response.text()).includes(new URL(import.meta.url).pathname);
    markUnreachable();
    await whenOpen();
  }
}

/** @throws UpdatedError if changes are unsaved, or the page has just been reloaded. The operator then decides when to reload it */
async function reload(): Promise<never> {
  if (hasUnsaved() || wasJustReloaded()) throw new UpdatedError(translate("app.updated_detail"));
  history.replaceState({ ...history.state, reloadedAt: Date.now() }, "");
  location.reload();
  return new Promise(() => {});
}

/** Otherwise, a page could reload again and again if servers of two versions share its address. */
const minPauseMs = 60_000;

function wasJustReloaded(): boolean {
  return Date.now() - (history.state?.reloadedAt ?? 0) < minPauseMs;
}

/** Says that the console was updated, if that's why the page was reloaded. */
export function explainReload(): void {
  if (wasJustReloaded()) notify(translate("app.updated"));
}
