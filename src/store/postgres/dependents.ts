// Views and permissions that depend on the tables. Both stay with a table that is renamed, so when other tables replace those in
// use, they are made again for the new ones.

import { Refusal } from "../../model/errors.ts";
import { tableNames } from "../tables.ts";
import { step } from "./bulk.ts";
import type { PostgresConnection, ResultRow } from "./postgres-connection.ts";

/** Statements that make the views and permissions again, for the tables that then have these names. */
type Dependents = readonly string[];

const ours = tableNames.map((table) => `'${table}'::regclass`).join(", ");

const selectViews = (columns: string) => `select distinct v.oid, v.oid::regclass::text as name, ${columns}
from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid in (${ours})
order by v.oid`;

// Not with the definitions: `pg_get_viewdef` fails when another refill drops tables that it has just replaced.
const owners = selectViews("v.relkind, pg_has_role(v.relowner, 'USAGE') as is_own");

const definitions = selectViews("pg_get_viewdef(v.oid) as definition, array_to_string(v.reloptions, ', ') as options");

const grants = `select c.relname as name, a.privilege_type as privilege, a.is_grantable,
  case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as role
from pg_class c, aclexplode(c.relacl) a where c.oid in (${ours}) and a.grantee <> c.relowner`;

/** @throws Refusal `conflict` when a view depends on the tables that this user cannot replace */
export async function requireOwnViews(connection: PostgresConnection): Promise<void> {
  const other = (await rowsOf(connection, owners)).find(({ relkind, is_own }) => relkind !== "v" || !is_own);
  if (!other) return;
  throw new Refusal(
    "conflict",
    `the view ${other.name} belongs to another user and reads the tables directly; drop it first, and make it again over the views \`brand\`, \`location\` and so on`,
  );
}

export async function readDependents(connection: PostgresConnection): Promise<Dependents> {
  return [
    ...(await rowsOf(connection, definitions)).map(
      ({ name, definition, options }) =>
        `create or replace view ${name}${options ? ` with (${options})` : ""} as ${definition}`,
    ),
    ...(await rowsOf(connection, grants)).map(
      ({ name, privilege, role, is_grantable }) =>
        `grant ${privilege} on ${name} to ${role}${is_grantable ? " with grant option" : ""}`,
    ),
  ];
}

export async function restoreDependents(connection: PostgresConnection, dependents: Dependents): Promise<void> {
  for (const text of dependents) await step(connection, connection.script(text));
}

async function rowsOf(connection: PostgresConnection, text: string): Promise<ResultRow[]> {
  const [rows = []] = await step(connection, connection.script(text));
  return rows;
}
