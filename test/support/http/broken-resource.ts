// Brands whose XML fails on demand, like a bug would, without replacing any of the program.

import type { Resource } from "../../../src/model/resource.ts";
import { allResources } from "../../../src/resources/all.ts";
import { brand } from "../../../src/resources/brand.ts";

/** The bug's message, which no client may see. */
export const secret = "the secret of /srv/private";

export interface BrokenResource {
  readonly resources: readonly Resource[];
  /** Called when a brand is written or read as XML. May throw. */
  whenUsed: () => void;
}

export function createBrokenResource(): BrokenResource {
  const broken: { resources: Resource[]; whenUsed: () => void } = { resources: [], whenUsed: () => {} };
  const { element } = brand;
  const brokenBrand = Object.defineProperty({ ...brand }, "element", {
    enumerable: true,
    get() {
      broken.whenUsed();
      return element;
    },
  });
  broken.resources = allResources.map((resource) => (resource === brand ? brokenBrand : resource));
  return broken;
}

export function fail(): never {
  throw new Error(secret);
}
