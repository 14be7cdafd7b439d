// What an API key may do. A right is `<resource>:read` or `<resource>:write`, which includes reading, `changes:read` for the feed, or `webhooks:write`.
//
// A key stores its rights as words separated by spaces: single rights, or a scope, which is short for many. `read` stands for reading all resources and
// the feed, and `write` for that and writing all resources, including those that are declared later. No scope includes `webhooks:write`, because it lets
// a key send changes elsewhere. A key without any rights has the word `none`. Other words, from another version of the program, grant nothing.

import { BoundedCache } from "../lib/bounded-cache.ts";
import { findNearest, formatHint } from "../lib/text.ts";
import { ProblemError } from "./errors.ts";
import { publicResources, type Resource } from "./resource.ts";

export type Right = `${string}:${"read" | "write"}`;

export const scopes = ["read", "write"] as const;
export type Scope = (typeof scopes)[number];

export const changesRight: Right = "changes:read";
export const webhooksRight: Right = "webhooks:write";
export const readRight = ({ path }: Pick<Resource, "path">): Right => `${path}:read`;
export const writeRight = ({ path }: Pick<Resource, "path">): Right => `${path}:write`;

export class KeyRights {
  /** Undefined if the key only has single rights. */
  readonly scope: Scope | undefined;
  /** The shortest text that stands for these rights, as stored. */
  readonly text: string;
  /** Single rights, including those that others include. */
  readonly #single: ReadonlySet<string>;

  /** @param words in any order; repeated ones make no difference */
  constructor(words: readonly string[]) {
    this.scope = words.includes("write") ? "write" : words.includes("read") ? "read" : undefined;
    const single = words.filter((word) => word.includes(":"));
    this.#single = new Set(single.flatMap((right) => [right, right.replace(/:write$/, ":read")]));
    const isNeeded = (right: string) =>
      !this.#isInScope(right) && !(right.endsWith(":read") && single.includes(right.replace(/read$/, "write")));
    this.text = [...(this.scope ? [this.scope] : []), ...new Set(single.filter(isNeeded))].join(" ") || "none";
  }

  allows(right: string): boolean {
    return this.#isInScope(right) || this.#single.has(right);
  }

  /** Whether everything that `other` allows is allowed. */
  includes(other: KeyRights): boolean {
    const hasScope = other.scope === undefined || this.scope === "write" || this.scope === other.scope;
    return hasScope && [...other.#single].every((right) => this.allows(right));
  }

  /** What both allow. */
  intersect(other: KeyRights): KeyRights {
    const scope = this.scope === "write" ? other.scope : other.scope && this.scope;
    const single = [...this.#single, ...other.#single].filter((right) => this.allows(right) && other.allows(right));
    return new KeyRights(scope ? [scope, ...single] : single);
  }

  #isInScope(right: string): boolean {
    if (this.scope === undefined) return false;
    return right.endsWith(":read") || (this.scope === "write" && right.endsWith(":write") && right !== webhooksRight);
  }
}

/** A site's keys have few different rights, and every key needs them when it's loaded. */
const known = new BoundedCache(1000, 200, (text) => new KeyRights(text.split(" ")));

/** @param text as stored */
export function toKeyRights(text: string): KeyRights {
  return known.get(text);
}

/** Returns all rights there are, in the order in which lists show them. */
export function allRights(resources: readonly Resource[]): readonly Right[] {
  const ofResources = publicResources(resources).flatMap((resource) =>
    resource.access === "written" ? [readRight(resource), writeRight(resource)] : [readRight(resource)],
  );
  return [...ofResources, changesRight, webhooksRight];
}

/**
 * Checks rights that an operator wants to give a key.
 * @param words at least one right or scope
 * @throws ProblemError `bad-request` that suggests the nearest right for one that doesn't exist
 */
export function parseRights(words: readonly string[], resources: readonly Resource[]): KeyRights {
  const rights: readonly string[] = allRights(resources);
  const unknown = words.find((word) => !rights.includes(word) && !scopes.some((scope) => scope === word));
  if (unknown === undefined && words.length > 0) return new KeyRights(words);
  const [path = "", verb] = (unknown ?? "").split(":");
  const meant =
    findNearest(unknown ?? "", rights) ??
    rights.find((right) => right.startsWith(`${path}:`)) ??
    (verb === undefined ? findNearest(`${path}:read`, rights) : undefined);
  const hint = formatHint(meant, `the rights are ${rights.join(", ")}`, unknown);
  const what = unknown === undefined ? "a key needs at least one right" : `unknown right \`${unknown.slice(0, 100)}\``;
  throw new ProblemError("bad-request", `${what}; ${hint}`);
}
