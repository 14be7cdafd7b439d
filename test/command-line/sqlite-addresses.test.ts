// SQLite addresses in the forms other programs accept: commands use the file that was meant, or refuse the address and create nothing.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { openWorkspace, type RunOptions, type Workspace } from "../support/programs/command.ts";

let workspace: Workspace;
beforeEach(() => {
  workspace = openWorkspace();
});
afterEach(() => workspace.close());

/** Creates a site, and with it the database. */
const create = (database: string, options: RunOptions = {}) =>
  workspace.run(["site", "add", "main", "--database", database], options);

test.each([
  ["sqlite:x.db", "x.db"],
  ["sqlite:./new/x.db", "new/x.db"],
  ["SQLite:x.db", "x.db"],
  ["sqlite:FOLDER/x.db", "x.db"],
  ["sqlite://FOLDER/x.db", "x.db"],
  ["sqlite:~/new/x.db", "new/x.db"],
  ["sqlite:./~x.db", "~x.db"],
  ["sqlite:my shop#1.db\n", "my shop#1.db"],
])("SQLite address %j: uses %s", async (address, file) => {
  const url = address.replace("FOLDER", workspace.folder);
  // The runtime only reads HOME when a process starts.
  const options = { env: { HOME: workspace.folder }, asProcess: address.includes("~/") };
  expect((await create(url, options)).code).toBe(0);
  expect(existsSync(workspace.file(file))).toBe(true);
  expect(await workspace.mustRun(["site", "list", "--database", url], options)).toContain("main");
});

test.each([
  ["sqlite::memory:", "/tmp/trial.db"],
  ["sqlite://:memory:", "/tmp/trial.db"],
  ["sqlite:file::memory:?cache=shared", "/tmp/trial.db"],
  ["sqlite:x.db?mode=ro", "remove the `?`"],
  ["sqlite:file:x.db?mode=rwc", "remove `file:`"],
  ["sqlite:file:///srv/x.db", "remove `file:`"],
  ["sqlite:C:\\shop\\x.db", "sqlite:/srv/storefront.db"],
  ["sqlite:///C:/shop/x.db", "sqlite:/srv/storefront.db"],
  ["sqlite:data\\x.db", "separate folders with `/`"],
  ["sqlite:~", "write the whole path"],
  ["sqlite:~anna/x.db", "write the whole path"],
  ["sqlite:$HOME/x.db", "write the actual path"],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell variable
  ["sqlite:${DATA}/x.db", "write the actual path"],
  ["sqlite:my%20shop.db", "without `%`"],
  ["sqlite://x.db", "sqlite:storefront.db for a file in the current folder"],
  ["sqlite:", "add a file name"],
  ["sqlite://", "add a file name"],
  ["sqlite:new/", "add a file name"],
  ["sqlite:'x.db'", "remove the quotes"],
  ['"sqlite:x.db"', "remove the quotes"],
  ["sqlite3:x.db", "write sqlite: and then the path"],
  ["sqlite+aiosqlite:///x.db", "write sqlite: and then the path"],
  ["file:x.db", "write sqlite: and then the path"],
  ["./x.db", "write sqlite: and then the path"],
])("SQLite address %s: refused, and creates nothing", async (address, advice) => {
  const [command, other] = [await create(address), await workspace.run(["site", "list", "--database", address])];
  expect([command.code, command.stdout, other.code]).toEqual([2, "", 2]);
  expect(command.stderr).toContain(advice);
  expect(command.stderr.trim().split("\n")).toHaveLength(1);
  expect(readdirSync(workspace.folder)).toEqual([]);
});
