// Gives a page's components the site, the declarations and the session.

import { createContext, useContext } from "react";
import type { RightInfo, SessionInfo, SiteInfo } from "../../admin/api/types.ts";
import type { Declared } from "../api/call-api.ts";

interface SiteContextValue {
  readonly site: SiteInfo;
  readonly declared: Declared;
  readonly session: SessionInfo;
  /** Reloads the sites. */
  readonly reload: () => Promise<void>;
}

/** What all of a site's pages share: the current site, all declarations and sites, and the session. */
export const SiteContext = createContext<SiteContextValue | undefined>(undefined);

export function useDeclared(): Declared {
  return useSiteContext().declared;
}

export function useSession(): SessionInfo {
  return useSiteContext().session;
}

/**
 * Whether the operator can see keys, webhooks and operators (`read-settings`), change records (`records`), or change keys, webhooks and sites
 * (`settings`). The server decides; pages only use this to hide or disable what it would reject.
 */
export function useCan(right: RightInfo): boolean {
  return useSession().rights.includes(right);
}

/** Returns a function that reloads the sites. Call it after adding, changing or removing one. */
export function useReload(): () => Promise<void> {
  return useSiteContext().reload;
}

export function useSiteInfo(): SiteInfo {
  return useSiteContext().site;
}

export function useSiteName(): string {
  return useSiteInfo().name;
}

function useSiteContext(): SiteContextValue {
  const value = useContext(SiteContext);
  if (!value) throw new Error("no site is shown");
  return value;
}

type Resources = Declared["resources"];

/** Returns what a record of the resource is called; for an unknown resource, its path. */
export function singularOf(resources: Resources, path: string): string {
  return resources.find((resource) => resource.path === path)?.singular ?? path;
}

/** Returns what several records of the resource are called; for an unknown resource, its path. */
export function pluralOf(resources: Resources, path: string): string {
  return resources.find((resource) => resource.path === path)?.plural ?? path;
}

/** Returns a sandbox's live site, or undefined if `site` isn't a sandbox. */
export function findLive(sites: readonly SiteInfo[], site: SiteInfo): SiteInfo | undefined {
  return sites.find(({ id }) => id === site.sandboxOf);
}

/** Returns a live site's sandbox, or undefined if it has none, or the first copy isn't finished. */
export function findSandboxOf(sites: readonly SiteInfo[], live: SiteInfo): SiteInfo | undefined {
  return sites.find(({ sandboxOf, importing }) => sandboxOf === live.id && importing === null);
}
