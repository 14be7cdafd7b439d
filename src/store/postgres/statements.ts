// The engine's statements. Their columns come from the declared tables (store/database/tables.ts). Text from outside the program is always a
// parameter. Whole numbers are too, or `list` checks them and writes them into the statement. Rows are a single parameter: a JSON array of objects
// whose members are the columns.
//
// The statements only use features that Citus, CockroachDB and YugabyteDB also have: no advisory locks, no sequences, and every statement about a
// site names the site. LISTEN and NOTIFY are the exception: where they don't work, other processes find changes a little later.
//
// Plans mustn't depend on table statistics. Those may be old, because PostgreSQL only analyzes a table from time to time, and it keeps the plan of a
// prepared statement. Hence these tricks, each with what PostgreSQL may do without it. They're tested in test/engine/postgres/plans.test.ts and
// kept-plans.test.ts.
//
//   `set local enable_seqscan = off` in `byKeys`: a look-up by keys reads the whole table.
//   `cross join lateral (... limit 1)` in `selectByKeys`: a join reads all rows of the site.
//   `between x and x ... order by x` in `selectByKeys`: keys are looked up in another index that also starts with the site.
//   `declare ... cursor` in `entries`: reading one page of a journal also sorts the entries after it.
//   `where (key) in (select key ...)` in `deleteSome` (site-operations.ts): each row to delete is compared with all rows of the site.
//   `select (select ... limit 1) from sites` in `oldestResponses`: the whole table of responses is read.

import { systemSite } from "../../model/system-site.ts";
import { changeColumns, entryColumns, recordChangeColumns } from "../database/journal.ts";
import { deleteSome } from "../database/site-operations.ts";
import {
  columnsOf,
  dumpedColumns,
  isText,
  primaryKeyOf,
  siteColumnOf,
  type TableName,
  tableNames,
} from "../database/tables.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";

/** How long before the database ends an idle transaction. Otherwise a process that hangs would hold its locks forever. */
const minIdleTimeoutMs = 10_000;

/** Notifications of commits use this channel. Channels belong to a database. */
const channel = "storefront_commits";

/**
 * For transactions that look up rows by key. PostgreSQL keeps the plan of a prepared statement. One made while a table had few rows may read the
 * whole table, even once it has a million, until PostgreSQL analyzes it. CockroachDB ignores this setting.
 */
const byKeys = "set local enable_seqscan = off";

const siteState = "sites.revision, sites.epoch, counts";

/**
 * Selects the row of site `$1` and, as `page`, the records of resource `$2` selected by `which`, in one text (`parsePage`). For a thousand rows, the
 * driver would take three times as long, most of it in one tick.
 */
const siteWithPage = (which: string) =>
  `select ${siteState}, page from sites left join lateral (
  select string_agg(id || ' ' || revision || ' ' || coalesce(body, ''), chr(30) order by id) as page from (
    select id, revision, body from records where site_id = sites.id and resource = $2 ${which}
  ) as found
) as joined on true where sites.id = $1`;

const systemHead = ["revision", "epoch"]
  .map((column) => `(select ${column} from sites where id = ${systemSite}) as system_${column}`)
  .join(", ");

export const sql = {
  heads: (sites: readonly number[]) => `select id, revision, epoch from sites where id in (${list(sites)})`,

  /** Begins a transaction that reads as of one moment. */
  beginRead: "begin isolation level repeatable read read only",
  endRead: "commit",

  /** Begins a transaction that looks up a site's rows by key, as of one moment, and reads the site's row. */
  beginReadByKeys: (site: number) => `${sql.beginRead}; ${byKeys}; ${sql.site(site)}`,

  site: (site: number) => `select revision, epoch, counts, last_ids, floor from sites where id = ${list([site])}`,

  lastEntry: (site: number) => {
    const revision = `select revision from sites where id = ${list([site])}`;
    return `select ${changeColumns} from journal where site_id = ${list([site])} and revision = (${revision})`;
  },

  /** Selects the row of site `$1`, joined with record `$3` of resource `$2` if that exists. */
  record: `select ${siteState}, found.id, resource, record_revision, body, ${systemHead} from sites left join lateral (
  select id, resource, revision as record_revision, body from records where site_id = sites.id and resource = $2 and id = $3
) as found on true where sites.id = $1`,

  page: siteWithPage("and body is not null order by id limit $3 offset $4"),

  rowsAfter: siteWithPage("and id > $3 order by id limit $4"),

  rows: (site: number) =>
    `select ${columnsInSite("records")} from records where site_id = ${list([site])} order by ${keyInSite("records")}`,

  counts: (sites: readonly number[]) => `select id, counts from sites where id in (${list(sites)})`,

  /** Selects the first `limit` rows of the sites in `$1` that have the ID `$2`, or whose JSON contains `$3`. */
  matchingRows: (limit: number) => `select found.* from ${given("sites", ["id"])} cross join lateral (
  select ${columnsOf("records").join(", ")} from records
  where site_id = given.id and body is not null and (id = $2 or strpos(body, $3) > 0) order by resource, id limit ${list([limit])}
) as found order by site_id, resource, id limit ${list([limit])}`,

  since: (site: number, revision: number, limit: number) =>
    `select ${changeColumns} from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision limit ${list([limit])}`,

  /** Selects the last `limit` changes after a revision, latest first. */
  lastChanges: ({ site, revision, limit }: Readonly<Record<"site" | "revision" | "limit", number>>) =>
    `select ${recordChangeColumns} from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision desc limit ${list([limit])}`,

  /**
   * Reads a page of a journal. Only use this in a transaction. PostgreSQL plans cursors to return the first rows quickly. Otherwise, it would sort
   * all later entries, because it assumes that there are few until the table is first analyzed.
   */
  entries: (site: number, revision: number, limit: number) =>
    `declare pages no scroll cursor for select ${entryColumns} from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision limit ${list([limit])};
fetch ${list([limit])} from pages; close pages`,

  /** Selects the rows of a table, or of one site in it. @param from the table's name, or that of a table with the same columns */
  dump: (table: TableName, from: string, site?: number) => {
    const where = site === undefined ? "" : `where ${siteColumnOf(table)} = ${list([site])} `;
    return `select ${dumpedColumns(table, from)} from ${from} ${where}order by ${primaryKeyOf(table).join(", ")}`;
  },

  /**
   * Begins a transaction. The database stops waiting for locks a little before we'd stop waiting for the database.
   * @param timeoutMs the pool's time limit, in milliseconds
   */
  begin: (timeoutMs: number) =>
    `begin; set local statement_timeout = ${list([timeoutMs])}; set local lock_timeout = ${list([Math.ceil(timeoutMs * 0.8)])}; set local idle_in_transaction_session_timeout = ${list([Math.max(minIdleTimeoutMs, timeoutMs)])}`,

  /** Begins a transaction that looks up rows by key. @param timeoutMs as for `begin` */
  beginByKeys: (timeoutMs: number) => `${sql.begin(timeoutMs)}; ${byKeys}`,

  /** Begins a transaction of one statement that looks up rows by key. */
  beginLookUp: `begin; ${byKeys}`,

  lockSites: (sites: readonly number[]) =>
    `select ${columnsOf("sites").join(", ")} from sites where id in (${list(sites)}) order by id for update`,

  insertSites: `${insert("sites")} order by id on conflict (id) do nothing`,

  /** Selects the rows with the keys in `$1`. */
  rowsByKeys: onceForEach(selectByKeys),

  /** Inserts the rows in `$1`. */
  insertInto: onceForEach(insert),

  /** Inserts the rows in `$1`, replacing those with the same keys. */
  upsertInto: onceForEach((table) => `${insert(table)} ${replaceRow(table)}`),

  /**
   * Inserts journal entries with the same site, time, actor and run (`$1` to `$4`). The other columns are lists. Texts are separated by `chr(30)`, which the
   * database splits several times as fast as it parses an array or JSON.
   */
  insertSimilarEntries: `insert into journal (site_id, at, actor, run, revision, id, resource, operation, body, before)
select $1::bigint, $2::bigint, $3::text, $4::text, given.*
from unnest($5::bigint[], $6::bigint[], ${splitTexts("$7")}, ${splitTexts("$8")}, ${splitTexts("$9")}, ${splitTexts("$10")}) as given`,

  /**
   * Stores the records of journal entries that were just inserted, so that their JSON is only sent once.
   * @param which the entries that created a record for the first time, or all others. Each record has one entry
   */
  recordsOfEntries: (
    { site, first, last }: Readonly<Record<"site" | "first" | "last", number>>,
    which: "new" | "old",
  ) =>
    `insert into records (site_id, resource, id, revision, body)
select site_id, resource, id, revision, case when operation <> 'delete' then body end from journal
where site_id = ${list([site])} and revision between ${list([first])} and ${list([last])} and operation ${which === "new" ? "= 'create'" : `<> 'create' ${replaceRow("records")}`}`,

  insert,

  // One look-up per site. If asked for any expired response of these sites, PostgreSQL sometimes scans the whole table.
  oldestResponses: (after: number, limit: number) =>
    `select id, (select at from idempotency where site_id = sites.id order by at limit 1) as oldest
from sites where id > ${list([after])} order by id limit ${list([limit])}`,

  deleteExpiredResponses: (site: number, before: number, limit: number) =>
    deleteSome("idempotency", list([site]), `and at <= ${list([before])} order by at limit ${list([limit])}`),

  // Adds a journal entry, as every write does, and deletes it in the same transaction. It belongs to no site. It's as long as an entry can be without
  // being compressed, so that it needs disk space like any other.
  probeWrite: `insert into journal (${columnsOf("journal").join(", ")}) values (${probeEntry().join(", ")});
delete from journal where site_id = -1`,

  // PostgreSQL doesn't apply `statement_timeout` to a commit. CockroachDB does, and would report an error for a commit that may have been done.
  commit: "set local statement_timeout = 0; commit",

  commitWithoutWait: "set local synchronous_commit = off; commit",

  listen: `listen ${channel}`,

  notify: (sites: readonly number[]) => `select pg_notify('${channel}', '${list(sites)}')`,

  nothing: "select 1",

  /** The database's clock, in milliseconds since 1970. */
  now: "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
} as const;

/** Splits a parameter with texts separated by `chr(30)`. Empty ones become null. */
function splitTexts(parameter: string): string {
  return `string_to_array(${parameter}::text, chr(30), '')`;
}

function probeEntry(): string[] {
  const values: Record<string, string> = {
    site_id: "-1",
    revision: "floor(random() * 9e15)::bigint",
    body: "repeat('x', 1500)",
  };
  return columnsOf("journal").map((column) => values[column] ?? (isText("journal", column) ? "''" : "0"));
}

function insert(table: TableName, into: string = table): string {
  const columns = columnsOf(table).join(", ");
  return `insert into ${into} (${columns}) select ${columns} from ${given(table)}`;
}

/** Built once per table, because a create uses several of them. */
function onceForEach(make: (table: TableName) => string): (table: TableName) => string {
  const texts = new Map(tableNames.map((table) => [table, make(table)]));
  return (table) => texts.get(table) as string;
}

/** For an insert that replaces an existing row with the same key. */
function replaceRow(table: TableName): string {
  const key = primaryKeyOf(table);
  const replaced = columnsOf(table, key).map((column) => `${column} = excluded.${column}`);
  return `on conflict (${key.join(", ")}) do update set ${replaced.join(", ")}`;
}

/**
 * Selects the rows with the keys in `$1`. Together with `byKeys`, this leaves only one plan: look up each key in the primary key.
 * - `limit 1` rules out joining the tables first.
 * - `order by` rules out another index that starts with the site, which PostgreSQL may prefer if the table has few rows or its statistics are old.
 *   Only the primary key has this order.
 * - `between` keeps the order necessary. With `=`, the last column would be constant, and PostgreSQL would ignore the order.
 */
function selectByKeys(table: TableName): string {
  const key = primaryKeyOf(table);
  const last = key.at(-1) as string;
  const same = key.map(
    (column) => `${table}.${column} ${column === last ? `between given.${last} and` : "="} given.${column}`,
  );
  const found = `select ${columnsOf(table).join(", ")} from ${table} where ${same.join(" and ")} order by ${table}.${last} limit 1`;
  return `select found.* from ${given(table, key)} cross join lateral (${found}) as found`;
}

/** The rows in `$1` as a table. Members that aren't columns are ignored. */
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

/** Formats whole numbers for a statement. @throws Error for anything else, because it mustn't get into a statement */
export function list(numbers: readonly number[]): string {
  for (const number of numbers) if (!Number.isSafeInteger(number)) throw new Error(`${number} is not a whole number`);
  return numbers.join(", ");
}

/** Runs a statement in a transaction of its own with `byKeys`, in one round trip. Returns its rows. */
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
