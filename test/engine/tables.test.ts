// The tables that each engine's migrations create match their declaration.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { allResources } from "../../src/resources/all.ts";
import { columnsOf, isText, primaryKeyOf, tableNames } from "../../src/store/database/tables.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines } from "../support/engine/engines.ts";

/** Statements that list the columns of a table in each engine, and the columns of its primary key in their order. */
const catalogs: Record<string, (table: string) => { columns: string; key: string }> = {
  SQLite: (table) => ({
    columns: `select name, lower(type) as type from pragma_table_info('${table}')`,
    key: `select name from pragma_table_info('${table}') where pk > 0 order by pk`,
  }),
  PostgreSQL: (table) => ({
    columns: `select column_name as name, replace(data_type, 'bigint', 'integer') as type
from information_schema.columns where table_schema = 'public' and table_name = '${table}'`,
    key: `select column_name as name from information_schema.key_column_usage
where table_schema = 'public' and table_name = '${table}' order by ordinal_position`,
  }),
};

describe.each(engines)("on $name", (engine) => {
  let url: string;
  beforeAll(async () => {
    await engine.open();
    url = await engine.newEmptyDatabase();
    await (await openEngine(url, allResources)).close();
  });
  afterAll(() => engine.close());

  test.each(tableNames)("the table %s has the columns, types and key that are declared", async (table) => {
    const catalog = catalogs[engine.name]?.(table) ?? { columns: "", key: "" };
    const columns = (await engine.select(url, catalog.columns)) as { name: string; type: string }[];
    const declared = columnsOf(table).map((name) => ({ name, type: isText(table, name) ? "text" : "integer" }));
    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
    expect([...columns].sort(byName)).toEqual(declared.sort(byName));
    const key = (await engine.select(url, catalog.key)) as { name: string }[];
    expect(key.map(({ name }) => name)).toEqual([...primaryKeyOf(table)]);
  });
});
