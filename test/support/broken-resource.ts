// Brands whose XML can be made to fail from the inside, as a fault of this program would: nothing of the program is replaced.

import type { Resource } from "../../src/model/resource.ts";
import { allResources } from "../../src/resources/all.ts";
import { brand } from "../../src/resources/brand.ts";

/** What the fault says, which no client may see. */
export const secret = "the secret of /srv/private";

export interface BrokenResource {
  readonly resources: readonly Resource[];
  /** Called whenever XML is made of a brand, or read; it may throw. */
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
