// The statements by which the earlier version (c58fcee) writes and reads, for tests of what the tables still allow it.

import type { EngineKind } from "../support/engines.ts";

export interface EarlierChange {
  readonly site?: number;
  readonly revision: number;
  readonly at?: number | undefined;
  readonly resource?: string;
  readonly id: number;
  readonly operation?: "create" | "update" | "delete" | "restore";
  readonly values: object;
  /** The highest IDs of the site after the change, by resource. */
  readonly counters: object;
}

/** Makes one change of a record, in the statements of a commit. */
export async function changeAsEarlier(kind: EngineKind, url: string, change: EarlierChange): Promise<void> {
  const { site = 1, revision, at = 1, resource = "brand", id, operation = "create", values, counters } = change;
  const body = quoted({ ID: id, ...values });
  const record = `(${site}, '${resource}', ${id}, ${revision}, ${operation === "delete" ? "null" : body})`;
  const isSqlite = kind.name === "SQLite";
  await kind.run(
    url,
    `begin;
${isSqlite ? "insert or replace" : "insert"} into records (site_id, resource, id, revision, body) values ${record}
${isSqlite ? "" : "on conflict (site_id, resource, id) do update set revision = excluded.revision, body = excluded.body"};
insert into journal (site_id, revision, at, actor, resource, id, operation, body)
values (${site}, ${revision}, ${at}, 'old', '${resource}', ${id}, '${operation}', ${body});
${
  isSqlite
    ? `insert or replace into sites (id, epoch, revision, counters) select id, epoch, ${revision}, ${quoted(counters)} from sites where id = ${site}`
    : `update sites set revision = ${revision}, counters = ${quoted(counters)} where id = ${site}`
};
commit`,
  );
}

/** Stores the response of the last change of site 1 for an idempotency key of its API key. */
export function storeResponseAsEarlier(kind: EngineKind, url: string, name: string, digest: string): Promise<void> {
  return kind.run(
    url,
    `insert into idempotency (site_id, key_id, name, digest, at, operation, id, revision, body)
select site_id, 1, '${name}', '${digest}', ${Date.now()}, operation, id, revision, body from journal
where site_id = 1 order by revision desc limit 1`,
  );
}

/** Removes a site's rows. */
export function dropSiteAsEarlier(kind: EngineKind, url: string, site: number): Promise<void> {
  const where = ["records where site_id", "journal where site_id", "idempotency where site_id", "sites where id"];
  return kind.run(url, where.map((clause) => `delete from ${clause} = ${site}`).join(";\n"));
}

interface EarlierRow {
  readonly resource: string;
  readonly id: number;
  readonly body: string | null;
}

interface EarlierEntry extends EarlierRow {
  readonly operation: string;
}

/** The records of a site by resource and ID: as its table of records has them, and as the entries of its journal give them. */
export async function readAsEarlier(kind: EngineKind, url: string, site: number) {
  const records = (await kind.select(
    url,
    `select resource, id, revision, body from records where site_id = ${site} order by resource, id`,
  )) as EarlierRow[];
  const entries = (await kind.select(
    url,
    `select revision, at, actor, resource, id, operation, body from journal
where site_id = ${site} and revision > 0 order by revision limit 1000`,
  )) as EarlierEntry[];
  const keyOf = ({ resource, id }: EarlierRow) => `${resource} ${id}`;
  return {
    records: Object.fromEntries(records.map((row) => [keyOf(row), row.body])),
    folded: Object.fromEntries(
      entries.map((entry) => [keyOf(entry), entry.operation === "delete" ? null : entry.body]),
    ),
    operations: new Set(entries.map(({ operation }) => operation)),
  };
}

function quoted(value: object): string {
  return `'${JSON.stringify(value).replaceAll("'", "''")}'`;
}
