// The statements of the engine. Their columns come from the declaration of the tables (store/database/tables.ts). A text from outside the program is
// always a parameter. A whole number is a parameter too, or `list` checks it and writes it into the statement. Rows are one parameter: a JSON array of
// objects that have the columns as members.
//
// The statements use only features that Citus, CockroachDB and YugabyteDB have too: no advisory locks, no sequences, and every statement about a
// site names the site. LISTEN and NOTIFY are the exception: if they do not work, other processes find changes a little later.
//
// A plan must not depend on the statistics of the tables. They may be old, because PostgreSQL analyzes a table only from time to time, and keeps the
// plan of a prepared statement. So the statements use the following tricks. Each line says what PostgreSQL may do
// without the trick. Tests are in test/engine/postgres/plans.test.ts and kept-plans.test.ts.
//
//   `set local enable_seqscan = off` in `byKeys`: Without it, a look-up by keys reads the whole table.
//   `cross join lateral (... limit 1)` in `selectByKeys`: Without it, a join reads all rows of the site.
//   `between x and x ... order by x` in `selectByKeys`: Without it, keys are looked up in another index, which also begins with the site.
//   `declare ... cursor` in `entries`: Without it, a read of one page of a journal also sorts the entries after the page.
//   `where (key) in (select key ...)` in `deleteSome` (site-operations.ts): Without it, each row to delete is compared with all rows of the site.
//   `union all` in `systemRevisions`: Without it, each pair of resource and ID is compared with all rows of the system site.
//   `select (select ... limit 1) from sites` in `oldestResponses`: Without it, the whole table of responses is read.

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
import type { SystemRecordKey } from "../writes/write-authorization.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";

/** Minimum milliseconds after which the database ends an idle transaction. Otherwise the locks of a process that hangs would block others for ever. */
const minIdleTimeoutMs = 10_000;

/** The channel of the notifications of commits. Channels belong to a database. */
const channel = "storefront_commits";

/**
 * The setting for a transaction that looks rows up by keys. PostgreSQL keeps the plan of a prepared statement. A plan that was made while a table had
 * few rows may read the whole table, even when the table has a million rows, until PostgreSQL analyzes it. CockroachDB ignores the setting.
 */
const byKeys = "set local enable_seqscan = off";

const siteState = "sites.revision, sites.epoch, counts";

/**
 * Selects the row of site `$1`, and as `page` all records of resource `$2` that `which` selects, as one text (`parsePage`). The driver would need
 * three times as long for a thousand rows, most of it in one tick.
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

  /** Begins a transaction that reads the state of one moment. */
  beginRead: "begin isolation level repeatable read read only",
  endRead: "commit",

  /** Begins a transaction that looks rows of a site up by keys, as of one moment, and reads the row of the site. */
  beginReadByKeys: (site: number) => `${sql.beginRead}; ${byKeys}; ${sql.site(site)}`,

  site: (site: number) => `select revision, epoch, counts, last_ids, floor from sites where id = ${list([site])}`,

  lastEntry: (site: number) => {
    const revision = `select revision from sites where id = ${list([site])}`;
    return `select ${changeColumns} from journal where site_id = ${list([site])} and revision = (${revision})`;
  },

  /** Selects the row of site `$1`, with the record of resource `$2` and ID `$3`; without such a record, the row of the site alone. */
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

  /** Selects the last `limit` changes after a revision, the latest first. */
  lastChanges: ({ site, revision, limit }: Readonly<Record<"site" | "revision" | "limit", number>>) =>
    `select ${recordChangeColumns} from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision desc limit ${list([limit])}`,

  /**
   * Reads a page of a journal, only in a transaction. PostgreSQL plans a cursor so that it returns the first rows soon. Without the cursor, it would
   * sort all later entries, because it assumes that they are few until the table is analyzed for the first time.
   */
  entries: (site: number, revision: number, limit: number) =>
    `declare pages no scroll cursor for select ${entryColumns} from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision limit ${list([limit])};
fetch ${list([limit])} from pages; close pages`,

  /** Selects the rows of a table, or of one site in it. @param from the name of the table, or of a table with the same columns */
  dump: (table: TableName, from: string, site?: number) => {
    const where = site === undefined ? "" : `where ${siteColumnOf(table)} = ${list([site])} `;
    return `select ${dumpedColumns(table, from)} from ${from} ${where}order by ${primaryKeyOf(table).join(", ")}`;
  },

  /**
   * Begins a transaction. The database ends its wait for locks a little before this program would stop waiting for the database.
   * @param timeoutMs the time limit of the pool, in milliseconds
   */
  begin: (timeoutMs: number) =>
    `begin; set local statement_timeout = ${list([timeoutMs])}; set local lock_timeout = ${list([Math.ceil(timeoutMs * 0.8)])}; set local idle_in_transaction_session_timeout = ${list([Math.max(minIdleTimeoutMs, timeoutMs)])}`,

  /** Begins a transaction that looks rows up by keys. @param timeoutMs as for `begin` */
  beginByKeys: (timeoutMs: number) => `${sql.begin(timeoutMs)}; ${byKeys}`,

  /** Begins a transaction of one statement that looks rows up by keys. */
  beginLookUp: `begin; ${byKeys}`,

  lockSites: (sites: readonly number[]) =>
    `select ${columnsOf("sites").join(", ")} from sites where id in (${list(sites)}) order by id for update`,

  insertSites: `${insert("sites")} order by id on conflict (id) do nothing`,

  /** Selects the rows with the keys in `$1`. */
  rowsByKeys: onceForEach(selectByKeys),

  /** Selects rows of the system site, without their record JSON. With a join, PostgreSQL would search all records while the table has few rows. */
  systemRevisions: (rows: readonly SystemRecordKey[]) =>
    [...Map.groupBy(rows, ({ resource }) => resource)].map(selectRevisions).join("\nunion all "),

  /** Inserts the rows in `$1`. */
  insertInto: onceForEach(insert),

  /** Inserts the rows in `$1`, and replaces existing rows with the same keys. */
  upsertInto: onceForEach((table) => `${insert(table)} ${replaceRow(table)}`),

  /**
   * Inserts journal entries that have the same site, time, actor and run (`$1` to `$4`). The other columns are arrays, which the database parses in half of
   * the time of JSON objects.
   */
  insertSimilarEntries: `insert into journal (site_id, at, actor, run, revision, resource, id, operation, body, before)
select $1::bigint, $2::bigint, $3::text, $4::text, given.*
from unnest($5::bigint[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[]) as given`,

  /**
   * Stores the records of journal entries that were just inserted, so that their JSON is sent only once.
   * @param which the entries that have created a record for the first time, or all others. Each record has one entry
   */
  recordsOfEntries: (
    { site, first, last }: Readonly<Record<"site" | "first" | "last", number>>,
    which: "new" | "old",
  ) =>
    `insert into records (site_id, resource, id, revision, body)
select site_id, resource, id, revision, case when operation <> 'delete' then body end from journal
where site_id = ${list([site])} and revision between ${list([first])} and ${list([last])} and operation ${which === "new" ? "= 'create'" : `<> 'create' ${replaceRow("records")}`}`,

  insert,

  // One look-up per site. For a statement that selects any expired response of these sites, PostgreSQL sometimes plans a scan of the whole table.
  oldestResponses: (after: number, limit: number) =>
    `select id, (select at from idempotency where site_id = sites.id order by at limit 1) as oldest
from sites where id > ${list([after])} order by id limit ${list([limit])}`,

  deleteExpiredResponses: (site: number, before: number, limit: number) =>
    deleteSome("idempotency", list([site]), `and at <= ${list([before])} order by at limit ${list([limit])}`),

  // Adds an entry to the journal, as every write does, and deletes it in the same transaction. The entry does not belong to a site. It is as long as
  // an entry can be without being compressed, so that it needs space on the disk as other entries do.
  probeWrite: `insert into journal (${columnsOf("journal").join(", ")}) values (${probeEntry().join(", ")});
delete from journal where site_id = -1`,

  // PostgreSQL does not apply `statement_timeout` to a commit. CockroachDB does, and would then report an error for a commit that may have been done.
  commit: "set local statement_timeout = 0; commit",

  commitWithoutWait: "set local synchronous_commit = off; commit",

  listen: `listen ${channel}`,

  notify: (sites: readonly number[]) => `select pg_notify('${channel}', '${list(sites)}')`,

  nothing: "select 1",

  /** The clock of the database, in milliseconds since 1970. */
  now: "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
} as const;

/**
 * Returns a statement that selects rows of one resource. For pairs of resource and ID, PostgreSQL would compare all rows of the system site with each
 * pair, if its statistics do not have these rows yet.
 */
function selectRevisions([resource, rows]: readonly [string, readonly SystemRecordKey[]]): string {
  return `select site_id, resource, id, revision, null as body from records
where site_id = ${systemSite} and resource = '${resource}' and id in (${list(rows.map(({ id }) => id))})`;
}

function probeEntry(): string[] {
  const values: Record<string, string> = {
    site_id: "-1",
    revision: "floor(random() * 9e15)::bigint",
    body: "repeat('x', 1500)",
  };
  return columnsOf("journal").map((column) => values[column] ?? (isText("journal", column) ? "''" : "0"));
}

// Statements for any table.

function insert(table: TableName, into: string = table): string {
  const columns = columnsOf(table).join(", ");
  return `insert into ${into} (${columns}) select ${columns} from ${given(table)}`;
}

/** Makes each text once, because a create executes several of them. */
function onceForEach(make: (table: TableName) => string): (table: TableName) => string {
  const texts = new Map(tableNames.map((table) => [table, make(table)]));
  return (table) => texts.get(table) as string;
}

/** Returns the clause of an insert that replaces an existing row with the same key. */
function replaceRow(table: TableName): string {
  const key = primaryKeyOf(table);
  const replaced = columnsOf(table, key).map((column) => `${column} = excluded.${column}`);
  return `on conflict (${key.join(", ")}) do update set ${replaced.join(", ")}`;
}

/**
 * Returns a statement that selects the rows with the keys in `$1`. Together with `byKeys`, only one plan is possible: PostgreSQL looks each key up in the
 * primary key.
 * - `limit 1` prevents a plan that joins the tables first.
 * - `order by` prevents the use of another index that begins with the site. PostgreSQL may prefer such an index if the table has few rows, or if its
 *   statistics are old. But only the primary key has this order.
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

/** Returns the table expression for the rows in `$1`. Members that are not columns are ignored. */
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

/** Formats whole numbers for a statement. @throws Error for any other value, because it must not get into a statement */
export function list(numbers: readonly number[]): string {
  for (const number of numbers) if (!Number.isSafeInteger(number)) throw new Error(`${number} is not a whole number`);
  return numbers.join(", ");
}

/** Executes one statement in a separate transaction with the setting `byKeys`, in one round trip. Returns its rows. */
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
