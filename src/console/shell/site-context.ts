// Passes the site, the declarations and the session to the components of a page.

import { createContext, useContext } from "react";
import type { RightInfo, SessionInfo, SiteInfo } from "../../admin/api/types.ts";
import type { Declared } from "../api/call-api.ts";

interface SiteContextValue {
  readonly site: SiteInfo;
  readonly declared: Declared;
  readonly session: SessionInfo;
  /** Reads the sites again. */
  readonly reload: () => Promise<void>;
}

/** The context of all pages of a site: the shown site, all declarations and sites, and the session. */
export const SiteContext = createContext<SiteContextValue | undefined>(undefined);

export function useDeclared(): Declared {
  return useSiteContext().declared;
}

export function useSession(): SessionInfo {
  return useSiteContext().session;
}

/**
 * Whether the operator may do something: look at keys, webhooks and operators (`read-settings`), change records (`records`), or change keys, webhooks
 * and sites (`settings`). The server decides; pages use this to hide or to disable what it would reject.
 */
export function useMay(right: RightInfo): boolean {
  return useSession().rights.includes(right);
}

/** Returns a function that reads the sites again. Call it after a site was added, changed or removed. */
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

/** Returns the name of one record of a resource; for an unknown resource, its path. */
export function singularOf(resources: Resources, path: string): string {
  return resources.find((resource) => resource.path === path)?.singular ?? path;
}

/** Returns the name of several records of a resource; for an unknown resource, its path. */
export function pluralOf(resources: Resources, path: string): string {
  return resources.find((resource) => resource.path === path)?.plural ?? path;
}

/** Returns the live site of a sandbox; undefined if `site` is not a sandbox. */
export function findLive(sites: readonly SiteInfo[], site: SiteInfo): SiteInfo | undefined {
  return sites.find(({ id }) => id === site.sandboxOf);
}

/** Returns the sandbox of a live site; undefined if it has none, or its first copy is still being made. */
export function findSandboxOf(sites: readonly SiteInfo[], live: SiteInfo): SiteInfo | undefined {
  return sites.find(({ sandboxOf, importing }) => sandboxOf === live.id && importing === null);
}
