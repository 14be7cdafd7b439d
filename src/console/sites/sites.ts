// Adds, changes and removes sites.

import type {
  NewSiteBody,
  NewSiteResponse,
  SandboxResponse,
  SiteBody,
  SiteInfo,
  SiteSummaryResponse,
} from "../../admin/api/types.ts";
import { callApi, sitePath } from "../api/call-api.ts";
import { useReload } from "../shell/site-context.ts";
import { useRead } from "../shell/site-data.ts";

export function addSite(site: NewSiteBody): Promise<NewSiteResponse> {
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
    add: (site: NewSiteBody) => done(addSite(site)),
    change: (name: string, change: SiteBody) => done(callApi("PATCH", sitePath(name), change)),
    renewSandbox: (name: string) => done(callApi<SandboxResponse>("POST", `${sitePath(name)}/sandbox`, {})),
    remove: (name: string) => done(callApi("DELETE", sitePath(name), { name } satisfies Pick<SiteInfo, "name">)),
  };
}

export function useSiteContents(name: string) {
  return useRead<SiteSummaryResponse>(sitePath(name), { staleTime: 0 });
}

/** Parses hostnames: one per line, or separated by spaces, commas or semicolons. */
export function toHostnames(text: string): string[] {
  return text.split(/[\s,;]+/).filter((host) => host !== "");
}
