// Sites, as the API has them.

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
  /** Null if none was asked for. It cannot be read again. */
  readonly key: string | null;
}

export interface SiteChange {
  readonly name?: string;
  readonly hostnames?: readonly string[];
  readonly isDefault?: boolean;
  readonly isSuspended?: boolean;
}

/** What a site has. */
interface SiteContents {
  readonly keys: number;
  readonly webhooks: number;
  /** The number of records of each resource, by its path. */
  readonly records: Readonly<Record<string, number>>;
}

export function addSite(site: NewSite): Promise<AddedSite> {
  return callApi("POST", "/sites", site);
}

/** What can be done with sites. The sites are read again after each. */
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

/** The hostnames in the text of a field: one per line, or separated by blanks or commas. */
export function toHostnames(text: string): string[] {
  return text.split(/[\s,;]+/).filter((host) => host !== "");
}

function pathOf(name: string): string {
  return `/sites/${encodeURIComponent(name)}`;
}
