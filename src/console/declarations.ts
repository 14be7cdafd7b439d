// Reads the declarations of the resources and the list of sites from the server, and makes labels for fields.

import { callApi } from "./api.ts";

/** The declaration of a field. */
export interface FieldDeclaration {
  /** The dotted path, such as `Address.Town`. */
  readonly path: string;
  /** Maximum length, in characters. */
  readonly max: number;
  readonly required: boolean;
  readonly description: string;
  readonly example: string;
  readonly pattern: { readonly source: string; readonly fault: string } | null;
}

/** The declaration of a resource. */
export interface ResourceDeclaration {
  readonly name: string;
  readonly path: string;
  readonly singular: string;
  readonly plural: string;
  readonly fields: readonly FieldDeclaration[];
}

/** A site in the list of sites. */
export interface SiteInfo {
  readonly id: number;
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  /** Time of the suspension in ISO 8601; null for a site that is served. */
  readonly suspended: string | null;
  readonly importing: string | null;
}

/** The resources of the server, and the sites of the operator. */
export interface Declared {
  readonly resources: readonly ResourceDeclaration[];
  readonly sites: readonly SiteInfo[];
  /** The URL of the public listener, which programs of integrators use. */
  readonly publicUrl: string;
}

/** Reads the declarations and the sites. @throws HttpError */
export async function loadDeclared(): Promise<Declared> {
  const [{ resources }, { sites, publicUrl }] = await Promise.all([
    callApi<{ resources: ResourceDeclaration[] }>("GET", "/resources"),
    callApi<{ sites: SiteInfo[]; publicUrl: string }>("GET", "/sites"),
  ]);
  return { resources, sites, publicUrl };
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
