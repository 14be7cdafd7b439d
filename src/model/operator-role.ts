// The roles of an operator, and the rights of each role. A role limits what an operator may do in the sites that the operator may manage.

/**
 * A right, which an action of the console needs:
 * `read` lists and reads records, their history, imports, requests and the overview; `read-settings` reads keys, webhooks and operators; `records`
 * changes records, also by imports and undo; `settings` changes keys, webhooks, sites and operators.
 */
export type Right = "read" | "read-settings" | "records" | "settings";

/** The roles, from the one with the most rights on. Operators choose one of these words. */
export const roles = ["all", "records", "read"] as const;

/** A role that can be given to an operator. */
export type GivenRole = (typeof roles)[number];

/** The role of an operator; `unknown` if another program version has stored a word that this one does not know. */
export type Role = GivenRole | "unknown";

/** The rights of each role. An unknown role has only the rights that every role has. */
const rightsOfRoles: Readonly<Record<Role, readonly Right[]>> = {
  all: ["read", "read-settings", "records", "settings"],
  records: ["read", "records"],
  read: ["read", "read-settings"],
  unknown: ["read"],
};

/** Lists the rights of a role. */
export function rightsOf(role: Role): readonly Right[] {
  return rightsOfRoles[role];
}

/** Returns the role that the field `Role` of an operator means. Empty means `all`. */
export function toRole(stored: string): Role {
  if (stored === "") return "all";
  return roles.find((role) => role === stored) ?? "unknown";
}

/** Returns the value of the field `Role` for a role. */
export function fromRole(role: GivenRole): string {
  return role === "all" ? "" : role;
}
