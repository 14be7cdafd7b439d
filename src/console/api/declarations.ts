// Reads the declarations of the resources and the list of sites from the server, and makes labels for fields.

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

/** Returns a field's name for people, without its group: `Address line 1` for `Address.AddressLine1`. */
export function labelOf(path: string): string {
  const name = path.slice(path.lastIndexOf(".") + 1);
  const words = name.replace(/(?<=[a-z])(?=[A-Z0-9])/g, " ").split(" ");
  return words.map((word, index) => (index === 0 ? word : word.toLowerCase())).join(" ");
}

/** Returns the name of a field with the name of its group: `Address: town`. */
export function fullLabelOf(path: string): string {
  return groupOf(path) ? `${labelOf(groupOf(path))}: ${labelOf(path).toLowerCase()}` : labelOf(path);
}

/** Returns the name of the group that contains a field; the empty text for a field without a group. */
export function groupOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
