// Loads parts of the console when they're first shown. Each is a script of its own.

import { type ComponentType, lazy, useState } from "react";
import { markUnreachable, whenOpen } from "../api/server-access.ts";
import { translate } from "../text/translate.ts";
import { notify } from "./notices.tsx";
import { hasUnsaved } from "./unsaved.ts";

const loaders: (() => Promise<unknown>)[] = [];

/**
 * Returns a component that's loaded when it's first shown, or by `preloadParts`.
 * @param load imports the component
 * @param fallback shown if it can't be loaded; by default, the whole page is loaded again
 * @param isFirst whether the address shows it, so that it's loaded at once
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  fallback?: ComponentType<Props>,
  isFirst = false,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  const loadPart = async () => {
    loaded = await load();
    return loaded;
  };
  loaders.push(loadPart);
  if (isFirst) loadPart().catch(() => {});
  const Lazy = lazy(async () => ({ default: await loadPart().catch((error) => fallback ?? reloadPage(error)) }));
  // React waits 300 ms before it replaces a fallback, so a part that's there already mustn't have one.
  return function Part(props: Props) {
    const [Shown] = useState<ComponentType<Props>>(() => loaded ?? Lazy);
    return <Shown {...props} />;
  };
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
