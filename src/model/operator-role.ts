// An operator's role decides what they may do in the sites they manage.

/**
 * What an action in the console requires:
 * - `read`: list and read records, their history, imports, requests and the overview
 * - `read-settings`: read keys, webhooks and operators
 * - `records`: change records, including imports and undo
 * - `settings`: change keys, webhooks, sites and operators
 */
export type Right = "read" | "read-settings" | "records" | "settings";

/** The roles operators can choose from, least rights first. */
export const roles = ["viewer", "editor", "admin"] as const;

export type GivenRole = (typeof roles)[number];

/** A stored role. `unknown` is one that only another version of the program knows. */
export type Role = GivenRole | "unknown";

/** An unknown role has only the rights that every role has. */
const rightsOfRoles: Readonly<Record<Role, readonly Right[]>> = {
  viewer: ["read", "read-settings"],
  editor: ["read", "records"],
  admin: ["read", "read-settings", "records", "settings"],
  unknown: ["read"],
};

export function rightsOf(role: Role): readonly Right[] {
  return rightsOfRoles[role];
}

/** What the database calls the roles. These were their first names, and every version of the program understands them. */
const firstNames: Readonly<Record<GivenRole, string>> = { viewer: "read", editor: "records", admin: "all" };

/** Also accepts a role's first name, which scripts may use. Undefined if there's no such role. */
export function roleNamed(name: unknown): GivenRole | undefined {
  return roles.find((role) => role === name || firstNames[role] === name);
}

/** Parses the field `Role` of an operator, where empty means `admin`. */
export function toRole(stored: string): Role {
  return stored === "" ? "admin" : (roleNamed(stored) ?? "unknown");
}

export function fromRole(role: GivenRole): string {
  return role === "admin" ? "" : firstNames[role];
}
