// Loads parts of the console when they're first shown. Each is a script of its own.

import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import { markUnreachable, whenOpen } from "../api/server-access.ts";
import { translate } from "../text/translate.ts";
import { notify } from "./notices.tsx";
import { hasUnsaved } from "./unsaved.ts";

const loaders: (() => Promise<unknown>)[] = [];

/**
 * Returns a component that's loaded when it's first shown, or by `preloadParts`.
 * @param load imports the component
 * @param fallback shown if it can't be loaded; by default, the whole page is loaded again
 */
export function lazyPart<Props>(
  load: () => Promise<ComponentType<Props>>,
  fallback?: ComponentType<Props>,
): LazyExoticComponent<ComponentType<Props>> {
  loaders.push(load);
  return lazy(async () => ({ default: await load().catch((error) => fallback ?? reloadPage(error)) }));
}

/** Loads all parts one by one, so that they're there when they're needed, even if the server is upgraded or can't be reached by then. */
export async function preloadParts(): Promise<void> {
  for (const load of loaders) await load().catch(() => {});
}

/** Says that the server has another version of the console than this page. */
export class UpdatedError extends Error {}

/**
 * Loads the whole page again as soon as the server can be reached. Importing the part again would fail even then, because browsers remember failures.
 * @throws Error if that would lose unsaved changes, or has just been tried. The operator then decides when to reload the page
 */
async function reloadPage(fault: Error): Promise<never> {
  const main = document.querySelector<HTMLScriptElement>('script[src*="/console/main-"]');
  const isUpdated = !(await readPage()).includes(main?.getAttribute("src") ?? "");
  if (hasUnsaved() || findReload()) throw isUpdated ? new UpdatedError(translate("app.updated_detail")) : fault;
  history.replaceState({ ...history.state, reload: { at: Date.now(), isUpdated } satisfies Reload }, "");
  location.reload();
  return new Promise(() => {});
}

/** Returns the text of the page as the server sends it now. Waits while the server can't be reached. */
async function readPage(): Promise<string> {
  for (;;) {
    const response = await fetch("/", { cache: "no-store" }).catch(() => undefined);
    if (response?.ok) return response.text();
    markUnreachable();
    await whenOpen();
  }
}

interface Reload {
  readonly at: number;
  readonly isUpdated: boolean;
}

/** Two servers of different versions that share an address could otherwise make the page reload again and again. */
const minPauseMs = 60_000;

/** Returns the last time `reloadPage` has reloaded the page, unless that's long ago. */
function findReload(): Reload | undefined {
  const last: Reload | undefined = history.state?.reload;
  return last && Date.now() - last.at < minPauseMs ? last : undefined;
}

/** Says that the console was updated, if that's why the page has been reloaded. */
export function explainReload(): void {
  if (findReload()?.isUpdated) notify(translate("app.updated"));
}
