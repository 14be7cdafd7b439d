// Adds, changes and removes sites.

import { useQuery } from "@tanstack/react-query";
import { callApi } from "../api.ts";
import type { SiteInfo } from "../declarations.ts";
import { useReload } from "../site-context.ts";

export interface NewSite {
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly withKey: boolean;
}

export interface AddedSite {
  readonly site: SiteInfo;
  /** The new key. It cannot be read again. Null if no key was requested. */
  readonly key: string | null;
}

export interface SiteChange {
  readonly name?: string;
  readonly hostnames?: readonly string[];
  readonly isDefault?: boolean;
  readonly isSuspended?: boolean;
}

/** The contents of a site, which a removal deletes. */
interface SiteContents {
  readonly keys: number;
  readonly webhooks: number;
  /** The number of records of each resource, by its path. */
  readonly records: Readonly<Record<string, number>>;
}

export function addSite(site: NewSite): Promise<AddedSite> {
  return callApi("POST", "/sites", site);
}

/** Returns the functions that change sites. After each, the list of sites is read again. */
export function useSiteActions() {
  const reload = useReload();
  async function done<T>(request: Promise<T>): Promise<T> {
    const result = await request;
    await reload();
    return result;
  }
  return {
    add: (site: NewSite) => done(addSite(site)),
    change: (name: string, change: SiteChange) => done(callApi("PATCH", pathOf(name), change)),
    remove: (name: string) => done(callApi("DELETE", pathOf(name), { name })),
  };
}

export function useSiteContents(name: string) {
  return useQuery({
    queryKey: ["site-contents", name],
    queryFn: () => callApi<SiteContents>("GET", pathOf(name)),
    staleTime: 0,
  });
}

/** Parses hostnames: one per line, or separated by spaces, commas or semicolons. */
export function toHostnames(text: string): string[] {
  return text.split(/[\s,;]+/).filter((host) => host !== "");
}

function pathOf(name: string): string {
  return `/sites/${encodeURIComponent(name)}`;
}
