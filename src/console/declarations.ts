// The declarations of the resources, as the server has them.

import { callApi } from "./api.ts";

export interface FieldDeclaration {
  /** Dotted: `Address.Town`. */
  readonly path: string;
  readonly max: number;
  readonly required: boolean;
  readonly description: string;
  readonly example: string;
  readonly pattern: { readonly source: string; readonly fault: string } | null;
}

export interface ResourceDeclaration {
  readonly name: string;
  readonly path: string;
  readonly singular: string;
  readonly plural: string;
  readonly fields: readonly FieldDeclaration[];
}

export interface SiteInfo {
  readonly id: number;
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly suspended: string | null;
  readonly importing: string | null;
}

export interface Declared {
  readonly resources: readonly ResourceDeclaration[];
  readonly sites: readonly SiteInfo[];
  /** The address at which programs of integrators reach the server, as it knows it. */
  readonly publicUrl: string;
}

export async function loadDeclared(): Promise<Declared> {
  const [{ resources }, { sites, publicUrl }] = await Promise.all([
    callApi<{ resources: ResourceDeclaration[] }>("GET", "/resources"),
    callApi<{ sites: SiteInfo[]; publicUrl: string }>("GET", "/sites"),
  ]);
  return { resources, sites, publicUrl };
}

/** A field's name as people read it: `AddressLine1` as `Address line 1`, without the group that is above it. */
export function labelOf(path: string): string {
  const name = path.slice(path.lastIndexOf(".") + 1);
  const words = name.replace(/(?<=[a-z])(?=[A-Z0-9])/g, " ").split(" ");
  return words.map((word, index) => (index === 0 ? word : word.toLowerCase())).join(" ");
}

/** The name of a field with that of its group: `Address: Town`. */
export function fullLabelOf(path: string): string {
  return groupOf(path) ? `${labelOf(groupOf(path))}: ${labelOf(path).toLowerCase()}` : labelOf(path);
}

/** The name of the group that a field is in; the empty text for none. */
export function groupOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
