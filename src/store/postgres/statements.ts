// Every statement of the engine, its columns from the declaration of the tables. Numbers are written into a statement; text
// is always a parameter. Rows are one parameter: a JSON array of objects, whose members are the columns.
//
// They stay within what Citus, CockroachDB and YugabyteDB have: no advisory locks, no sequences, and every statement that touches a
// site names it. LISTEN and NOTIFY are the exception: where they fail, changes are noticed a little later.

import { systemSite } from "../../model/limits.ts";
import {
  changeColumns,
  entryColumns,
  floorColumn,
  operationColumn,
  putCounts,
  selectDeleted,
  selectUndropped,
} from "../database/site-state.ts";
import { columnsOf, isText, primaryKeyOf, siteColumnOf, type TableName } from "../database/tables.ts";
import type { SystemRow } from "../writes/batch.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";

/** How long a transaction may at least hold up others when its process no longer responds, in milliseconds. */
const minIdleTimeout = 10_000;

/** The channel of the notifications of commits. Channels belong to a database. */
const channel = "storefront_commits";

/**
 * For a transaction whose statements look up by keys. The plan of a prepared statement is kept, and one that was made while a table had few
 * rows may read the whole table: also when it has a million, until PostgreSQL analyzes it. CockroachDB accepts the setting and ignores it.
 */
const byKeys = "set local enable_seqscan = off";

/** Rows of a removed site that one transaction deletes at most. */
const maxDropped = 2000;

/** The row of a site `$1`, with each row of records that `which` leaves of resource `$2` beside it, and alone where there is none. */
const siteWith = (which: string, more = "") =>
  `select sites.revision, sites.epoch, live, live_revision, found.id, resource, record_revision, body${more} from sites left join lateral (
  select id, resource, revision as record_revision, body from records where site_id = sites.id and resource = $2 ${which}
) as found on true where sites.id = $1`;

const systemHead = ["revision", "epoch"]
  .map((column) => `(select ${column} from sites where id = ${systemSite}) as system_${column}`)
  .join(", ");

export const sql = {
  heads: (sites: readonly number[]) => `select id, revision, epoch from sites where id in (${list(sites)})`,

  /** Begins a transaction that reads the state of one moment. */
  beginRead: "begin isolation level repeatable read read only",
  endRead: "commit",

  site: (site: number) => `select id, revision, epoch, live, live_revision from sites where id in (${list([site])})`,

  lastEntry: (site: number) => {
    const revision = `select revision from sites where id = ${list([site])}`;
    return `select ${changeColumns} from journal where site_id = ${list([site])} and revision = (${revision})`;
  },

  record: siteWith("and id = $3", `, ${systemHead}`),

  page: `${siteWith("and body is not null order by id limit $3 offset $4")} order by found.id`,

  rows: (site: number) =>
    `select ${columnsInSite("records")} from records where site_id = ${list([site])} order by ${keyInSite("records")}`,

  since: (site: number, revision: number, limit: number) =>
    `select ${changeColumns} from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision limit ${list([limit])}`,

  /** Of the changes after a revision the last ones, in reverse order. */
  lastChanges: ({ site, revision, limit }: Readonly<Record<"site" | "revision" | "limit", number>>) =>
    `select revision, resource, id, ${operationColumn}, body from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision desc limit ${list([limit])}`,

  floor: (site: number) => `select revision, epoch, ${floorColumn} from sites where id = ${list([site])}`,

  deleteEntries: (site: number, through: number) =>
    `delete from journal where site_id = ${list([site])} and revision <= ${list([through])}`,

  setFloor: (site: number, floor: number) => `update sites set floor = ${list([floor])} where id = ${list([site])}`,

  /**
   * A page of a journal, in a transaction. The plan for a cursor begins with the first rows at once: before the table is first analyzed,
   * PostgreSQL would otherwise sort all entries that follow, which it takes to be few.
   */
  entries: (site: number, revision: number, limit: number) =>
    `declare pages no scroll cursor for select ${entryColumns} from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision limit ${list([limit])};
fetch ${list([limit])} from pages; close pages`,

  /** Every row of a table, or of one like it that is named `from`; only those of `site` if there is one. */
  dump: (table: TableName, from: string, site?: number) => {
    const where = site === undefined ? "" : `where ${siteColumnOf(table)} = ${list([site])} `;
    return `select ${columnsOf(table).join(", ")} from ${from} ${where}order by ${primaryKeyOf(table).join(", ")}`;
  },

  /** Begins a transaction whose wait for others ends a little before this program's wait for it. */
  begin: (timeout: number) =>
    `begin; set local statement_timeout = ${list([timeout])}; set local lock_timeout = ${list([Math.ceil(timeout * 0.8)])}; set local idle_in_transaction_session_timeout = ${list([Math.max(minIdleTimeout, timeout)])}`,

  /** The same for a transaction whose statements look up by keys. */
  beginByKeys: (timeout: number) => `${sql.begin(timeout)}; ${byKeys}`,

  /** Begins a transaction of one statement that looks up by keys. */
  beginLookUp: `begin; ${byKeys}`,

  lockSites: (sites: readonly number[]) =>
    `select ${columnsOf("sites").join(", ")} from sites where id in (${list(sites)}) order by id for update`,

  lockAllSites: "select id, epoch from sites order by id for update",

  lockSite: (site: number) => `select revision, epoch from sites where id = ${list([site])} for update`,

  putEpoch: "update sites set epoch = $2 where sites.id = $1",

  addSites: `${insert("sites")} order by id on conflict (id) do nothing`,

  fetchRows: fetch("records"),

  /** The rows of the system site, without their bodies. In a joined statement, they would be looked for among all records while those are few. */
  fetchRevisions: (rows: readonly SystemRow[]) =>
    [...Map.groupBy(rows, ({ resource }) => resource)].map(selectRevisions).join("\nunion all "),

  fetchResponses: fetch("idempotency"),

  putRows: put("records"),

  addChanges: insert("journal"),

  putSites: put("sites"),

  putCounts: putCounts({ live: "$1", site: "$2", epoch: "$3", revision: "$4" }),

  lastTimes: fetch("journal", ["site_id", "at"]),

  putResponses: put("idempotency"),

  insert,

  // A statement that looks for any expired response of these sites would sometimes be planned as a scan of the whole table.
  oldestResponses: (after: number, limit: number) =>
    `select id, (select at from idempotency where site_id = sites.id order by at limit 1) as oldest
from sites where id > ${list([after])} order by id limit ${list([limit])}`,

  deleteExpiredResponses: (site: number, before: number, limit: number) =>
    deleteSome("idempotency", site, `and at <= ${list([before])} order by at limit ${list([limit])}`),

  // An entry of the journal, as every write adds one, of no site and deleted in the same transaction. It is as long as an
  // entry that is not compressed may be, so that it needs space on the disk as others do.
  tryWrite: `insert into journal (${columnsOf("journal").join(", ")}) values (${trialEntry().join(", ")});
delete from journal where site_id = -1`,

  // PostgreSQL itself does not apply a statement's time limit to the end of a transaction. CockroachDB does, and would then
  // report an error for a commit that may have been done.
  commit: "set local statement_timeout = 0; commit",

  commitWithoutWait: "set local synchronous_commit = off; commit",

  listen: `listen ${channel}`,

  notify: (sites: readonly number[]) => `select pg_notify('${channel}', '${list(sites)}')`,

  nothing: "select 1",

  noteUses: `${insert("key_uses")} order by key_id on conflict (key_id) do update set at = greatest(key_uses.at, excluded.at)`,

  uses: "select key_id, at from key_uses",

  /** Returns a row if the record of this site was deleted. */
  deletedSite: (site: number) => selectDeleted(list([site])),

  dropRows: (table: TableName, site: number) => deleteSome(table, site, `limit ${maxDropped}`),

  /** While statistics know one site only, PostgreSQL would look for the rows of each removed one among all rows. */
  undroppedSites: `begin; ${byKeys}; ${selectUndropped}; commit`,
} as const;

/** One resource in each: for a list of pairs, PostgreSQL would compare all rows of a system site whose rows the statistics do not know. */
function selectRevisions([resource, rows]: readonly [string, readonly SystemRow[]]): string {
  return `select site_id, resource, id, revision, null as body from records
where site_id = ${systemSite} and resource = '${resource}' and id in (${list(rows.map(({ id }) => id))})`;
}

function trialEntry(): string[] {
  const values: Record<string, string> = {
    site_id: "-1",
    revision: "floor(random() * 9e15)::bigint",
    body: "repeat('x', 1500)",
  };
  return columnsOf("journal").map((column) => values[column] ?? (isText("journal", column) ? "''" : "0"));
}

// What the statements of every table have in common.

function insert(table: TableName, into: string = table): string {
  const columns = columnsOf(table).join(", ");
  return `insert into ${into} (${columns}) select ${columns} from ${given(table)}`;
}

/** Inserts rows, or replaces those that are there. */
export function put(table: TableName): string {
  const key = primaryKeyOf(table);
  const replaced = columnsOf(table, key).map((column) => `${column} = excluded.${column}`);
  return `${insert(table)} on conflict (${key.join(", ")}) do update set ${replaced.join(", ")}`;
}

/**
 * The rows with the given keys. Together with `byKeys`, no plan but a look-up of each in the primary key is possible: rows cannot be
 * joined before a limit, and the order, which means nothing for one row, is that of no other index. With few rows, or rows of which the
 * statistics do not know, PostgreSQL estimates another index that begins with the site to be as good.
 */
export function fetch(table: TableName, columns = columnsOf(table)): string {
  const key = primaryKeyOf(table);
  const last = key.at(-1) as string;
  const same = key.map(
    (column) => `${table}.${column} ${column === last ? `between given.${last} and` : "="} given.${column}`,
  );
  const found = `select ${columns.join(", ")} from ${table} where ${same.join(" and ")} order by ${table}.${last} limit 1`;
  return `select found.* from ${given(table, key)} cross join lateral (${found}) as found`;
}

/**
 * The site is part of the key in the list and no condition beside it: of a site with more rows than the statistics know, PostgreSQL would
 * compare all rows with each that is to go. It may also look them up in the index of the times of responses, so the time is in the list.
 */
function deleteSome(table: TableName, site: number, which: string): string {
  const key = [...primaryKeyOf(table), ...(table === "idempotency" ? ["at"] : [])].join(", ");
  const chosen = `select ${key} from ${table} where site_id = ${list([site])} ${which}`;
  return `delete from ${table} where (${key}) in (${chosen}) returning 1`;
}

/** The rows in `$1`. Members that are no columns are ignored. */
function given(table: TableName, columns: readonly string[] = columnsOf(table)): string {
  const typed = columns.map((column) => `${column} ${isText(table, column) ? "text" : "bigint"}`);
  return `json_to_recordset($1::json) as given (${typed.join(", ")})`;
}

function columnsInSite(table: TableName): string {
  return columnsOf(table, ["site_id"]).join(", ");
}

function keyInSite(table: TableName): string {
  return primaryKeyOf(table)
    .filter((column) => column !== "site_id")
    .join(", ");
}

/** Whole numbers as SQL writes them; anything else must not get into a statement. */
export function list(numbers: readonly number[]): string {
  for (const number of numbers) if (!Number.isSafeInteger(number)) throw new Error(`${number} is not a whole number`);
  return numbers.join(", ");
}

/** Runs one statement whose plan must be a look-up by keys, whatever the number of rows, in a transaction of its own and one round trip. */
export async function lookUp(
  connection: PostgresConnection,
  ...statement: Parameters<PostgresConnection["query"]>
): Promise<ResultRow[]> {
  const [, rows] = await Promise.all([
    connection.script(sql.beginLookUp),
    connection.query(...statement),
    connection.script(sql.endRead),
  ]);
  return rows;
}
