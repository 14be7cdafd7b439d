// What the statements of every table have in common.

import { columnsOf, isText, primaryKeyOf, type TableName } from "../tables.ts";

export function insert(table: TableName, into: string = table): string {
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
export function deleteSome(table: TableName, site: number, which: string): string {
  const key = [...primaryKeyOf(table), ...(table === "idempotency" ? ["at"] : [])].join(", ");
  const chosen = `select ${key} from ${table} where site_id = ${list([site])} ${which}`;
  return `delete from ${table} where (${key}) in (${chosen}) returning 1`;
}

/** The rows in `$1`. Members that are no columns are ignored. */
function given(table: TableName, columns: readonly string[] = columnsOf(table)): string {
  const typed = columns.map((column) => `${column} ${isText(table, column) ? "text" : "bigint"}`);
  return `json_to_recordset($1::json) as given (${typed.join(", ")})`;
}

export function columnsInSite(table: TableName): string {
  return columnsOf(table, ["site_id"]).join(", ");
}

export function keyInSite(table: TableName): string {
  return primaryKeyOf(table)
    .filter((column) => column !== "site_id")
    .join(", ");
}

/** Whole numbers as SQL writes them; anything else must not get into a statement. */
export function list(numbers: readonly number[]): string {
  for (const number of numbers) if (!Number.isSafeInteger(number)) throw new Error(`${number} is not a whole number`);
  return numbers.join(", ");
}
