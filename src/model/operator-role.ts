// An operator's role decides what they may do in the sites they manage.

/**
 * What an action in the console requires:
 * - `read`: list and read records, their history, imports, requests and the overview
 * - `read-settings`: read keys, webhooks and operators
 * - `records`: change records, including imports and undo
 * - `settings`: change keys, webhooks, sites and operators
 */
export type Right = "read" | "read-settings" | "records" | "settings";

/** The roles operators can choose from, most rights first. */
export const roles = ["all", "records", "read"] as const;

export type GivenRole = (typeof roles)[number];

/** A stored role. `unknown` is one that only another version of the program knows. */
export type Role = GivenRole | "unknown";

/** An unknown role has only the rights that every role has. */
const rightsOfRoles: Readonly<Record<Role, readonly Right[]>> = {
  all: ["read", "read-settings", "records", "settings"],
  records: ["read", "records"],
  read: ["read", "read-settings"],
  unknown: ["read"],
};

export function rightsOf(role: Role): readonly Right[] {
  return rightsOfRoles[role];
}

/** Parses the field `Role` of an operator, where empty means `all`. */
export function toRole(stored: string): Role {
  if (stored === "") return "all";
  return roles.find((role) => role === stored) ?? "unknown";
}

export function fromRole(role: GivenRole): string {
  return role === "all" ? "" : role;
}
