// Adds the missing members to the canonical JSON of a new record. Most clients leave out the fields that they do not use.

import type { Field, Fields } from "../model/field.ts";
import type { Resource } from "../model/resource.ts";

/** A member of a record or group. */
interface Member {
  /** The JSON of its name, with the colon. */
  readonly name: string;
  /** The JSON of the member if it was not sent; undefined if it is required. */
  readonly empty: string | undefined;
  /** The members of a group; undefined for a text. */
  readonly members: readonly Member[] | undefined;
}

const membersByResource = new WeakMap<Resource, readonly Member[]>();

/**
 * Returns the JSON of all values of a new record; undefined if a required field is missing.
 * @param json canonical JSON of some of the members (`matchCanonicalChanges`), without an ID. So it has no white space and no escapes, and its members
 *   are in the order of the declaration
 */
export function completeNewRecord(resource: Resource, json: string): string | undefined {
  let members = membersByResource.get(resource);
  if (!members) {
    members = membersOf(resource.fields);
    membersByResource.set(resource, members);
  }
  return new Completion(json).object(members);
}

/** Copies an object, and adds the missing members. */
class Completion {
  readonly #json: string;
  #at = 0;

  constructor(json: string) {
    this.#json = json;
  }

  /** Copies the object at the index `#at`. Returns undefined if a required member is missing. */
  object(members: readonly Member[]): string | undefined {
    let copy = "";
    this.#at++;
    for (const member of members) {
      const value = this.#member(member);
      if (value === undefined) return undefined;
      copy += copy === "" ? `{${value}` : `,${value}`;
    }
    this.#at++;
    return `${copy}}`;
  }

  #member({ name, empty, members }: Member): string | undefined {
    const json = this.#json;
    if (!json.startsWith(name, this.#at)) return empty;
    const start = this.#at;
    this.#at += name.length;
    const group = members && this.object(members);
    if (members && group === undefined) return undefined;
    if (!members) this.#at = json.indexOf('"', this.#at + 1) + 1;
    const member = group === undefined ? json.slice(start, this.#at) : name + group;
    if (json[this.#at] === ",") this.#at++;
    return member;
  }
}

function membersOf(fields: Fields): Member[] {
  return Object.entries(fields).map(([name, field]: [string, Field]) => {
    const start = `${JSON.stringify(name)}:`;
    if (field.kind === "text")
      return { name: start, empty: field.required ? undefined : `${start}""`, members: undefined };
    const members = membersOf(field.fields);
    const empty = new Completion("{}").object(members);
    return { name: start, empty: empty === undefined ? undefined : start + empty, members };
  });
}
