// Reads the declarations of the resources and the list of sites from the server.

import type { ResourcesResponse, SitesResponse } from "../../admin/api/types.ts";
import { callApi } from "./call-api.ts";

/** The resources of the server, and the sites of the operator. */
export type Declared = ResourcesResponse & SitesResponse;

/** Reads the declarations and the sites. @throws HttpError */
export async function loadDeclared(): Promise<Declared> {
  const [resources, sites] = await Promise.all([
    callApi<ResourcesResponse>("GET", "/resources"),
    callApi<SitesResponse>("GET", "/sites"),
  ]);
  return { ...resources, ...sites };
}
