// The requests of the loads.

import type { Request } from "../load.ts";
import type { Measured } from "../process.ts";
import { sampleBrand } from "../scenarios.ts";
import type { FollowedSites } from "./sites.ts";

/** A site of a database: the one that clients follow, or the other one. */
export type SiteName = keyof FollowedSites["keys"];

export function lookUp(site: SiteName, sites: FollowedSites): Request {
  return { method: "GET", path: "/restapi/brands/500.json", headers: headersOf(site, sites) };
}

export function create(site: SiteName, sites: FollowedSites): Request {
  const body = JSON.stringify({ ...sampleBrand(1), Name: "[<id>]" });
  return { method: "POST", path: "/restapi/brands.json", headers: headersOf(site, sites), body };
}

/** Sends a create once, and waits for its response. @param name the name of the new brand @returns the number of failures: 0 or 1 */
export async function sendCreate(
  server: Measured,
  { method, path, headers, body }: Request,
  name: string,
): Promise<number> {
  const init = { method, headers, body: body?.replace("[<id>]", name) ?? "" };
  const response = await fetch(server.url + path, init);
  await response.arrayBuffer();
  return response.status === 201 ? 0 : 1;
}

function headersOf(site: SiteName, { keys }: FollowedSites): Record<string, string> {
  return { Host: `${site}.test`, "X-API-AUTH": keys[site][0] as string, "Accept-Encoding": "identity" };
}
