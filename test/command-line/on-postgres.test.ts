// Each command as a process on PostgreSQL. Other files test the commands in detail on SQLite, and operator/ tests their functions on both engines.

import { afterAll, expect, test } from "bun:test";
import type { Command } from "commander";
import { createProgram } from "../../src/commands/program.ts";
import { openDatabases } from "../support/postgres/databases.ts";
import { openWorkspace } from "../support/programs/command.ts";
import { startReceiver } from "../support/webhooks/receiver.ts";

let key = "";
const databases = await openDatabases();
const workspace = openWorkspace(await databases.createDatabase());
const receiver = await startReceiver();
afterAll(async () => {
  await receiver.stop();
  await workspace.close();
  await databases.remove();
});

/**
 * Every command with its arguments and output, run in this order on one database. `URL` stands for a receiver's address, `KEY` for a key and `DATABASE`
 * for the database's address.
 */
const calls: [command: string, args: string, printed: RegExp, stdin?: string][] = [
  ["site add", "shop --default", /^1\ncreated the site shop \(ID 1\); to create a key: /],
  ["site add", "toys --json", /^\{\n {2}"id": 2,/],
  ["site set", "shop --hostname shop.example --json", /"hostnames": \[\s*"shop\.example"/],
  ["site list", "", /\n1 +shop +shop\.example +yes +served\n2 +toys +served\n$/],
  ["key create", "--site shop", /^sfk_\w+\n/],
  ["key list", "--site shop --json", /"site": "shop"/],
  ["key set", "KEY --label till --json", /"label": "till"/],
  ["key rotate", "KEY", /^sfk_\w+\n/],
  ["key revoke", "KEY --json", /"revoked": "20/],
  ["import", "--site shop brands -", /^3 rows: 3 created, 0 updated, 0 unchanged, 0 rejected\n/, "Name\nA\nB\nC\n"],
  ["export", "--site shop brands --format csv", /^ID,Name,.*\r?\n1,A,.*\r?\n2,B,.*\r?\n3,C,/],
  ["export", "--site shop brands brands.xlsx", /^$/],
  ["import", "--site shop brands brands.xlsx", /^3 rows: 0 created, 0 updated, 3 unchanged, 0 rejected\n/],
  [
    "import",
    "--site shop brands - --match Name --dry-run",
    /^2 rows: 0 would be created, 2 would be updated, 0 unchanged, 0 rejected, 1 warning\n/,
    "Name,AccountNumber\nA,1\nA,2\n",
  ],
  ["webhook add", "--site shop URL --since 0.0", /^whsec_\S+\nadded webhook 1;/],
  ["webhook list", "", /^ID +SITE +URL .*\n1 +shop +http:\S+ +\S+ +operator +\S+ \S+ +3 +active\n$/],
  ["webhook test", "1", /responded with 200 in \d+ ms\n$/],
  ["webhook deliveries", "1 --json", /"status": 200/],
  ["webhook retry", "1", /^webhook 1 isn't failing, so there's nothing to retry\n$/],
  ["webhook change", "1 URL?a", /^webhook 1 now delivers to http:\S+\?a\n$/],
  ["webhook rotate", "1", /^whsec_\S+\nwebhook 1 has a new secret/],
  ["webhook pause", "1", /^paused webhook 1\n$/],
  ["webhook resume", "1", /^resumed webhook 1\n$/],
  ["webhook rewind", "1 --since 1h", /^webhook 1 will continue after 0\.0, 3 changes behind\n$/],
  ["site show", "shop", /\nWebhooks +1\n/],
  ["describe", "shop", /^# yaml-language-server: .*\nsites:\n {2}- name: shop\n {4}hostnames: \[shop\.example\]\n/],
  [
    "apply",
    "- --yes --keys-to new.jsonl",
    /^~ site toys: suspended false → true\n\+ key ERP at toys: can read\n1 to create, 1 to change, 0 to remove; .*\napplied; the run is \w{8}\n$/,
    "sites: [{name: toys, suspended: true, keys: [{label: ERP, can: [read]}]}]",
  ],
  ["operator add", "anna", /^1\n/],
  ["operator add", "ben --site toys --json", /"sites": \[\s*"toys"\s*\]/],
  ["operator set", "ben --site shop --json", /"sites": \[\s*"shop"\s*\]/],
  ["operator role", "ben read --json", /"role": "viewer"/],
  ["operator link", "ben --url http://127.0.0.1:1", /^http:\/\/127\.0\.0\.1:1\/#sign-in=[0-9A-Za-z]{32}\n/],
  ["operator sign-out", "ben", /^signed out ben\n$/],
  ["operator remove", "ben", /^removed the operator ben\n$/],
  ["operator list", "", /\n1 +anna +all +admin +links +\S+ \S+ +never\n$/],
  ["delete", "--site shop brands 2", /^\{"ID":2,.*\}\n/],
  ["restore-record", "--site shop brands 2 --json", /"Name": "B"/],
  ["undo", "--site shop --since 2", /^2 records: 1 deleted, 0 restored, 1 unchanged, 0 skipped\n/],
  ["journal", "--site shop --since 1h", /^1\t.*\n2\t.*\n(.*\n){4}$/],
  ["export-site", "shop shop.site", /^exported the site shop to shop\.site: 2 keys, 1 webhook, 3 records, /],
  [
    "import-site",
    "shop.site --name copy --without-keys",
    /^3\nimported the site copy \(ID 3\): 0 keys, 0 webhooks, 3 records, 6 changes\n/,
  ],
  ["backup", "all.backup --json", /"file": "all\.backup"/],
  ["check", "all.backup", /^no faults found in all\.backup\n$/],
  ["webhook remove", "1", /^removed webhook 1\n$/],
  ["site remove", "copy --yes", /^removed the site copy\n$/],
  [
    "restore",
    "all.backup",
    /^restored \d+ rows from all\.backup; 2 changes made since the backup are discarded; the previous content is in /,
  ],
  ["renew", "--json", /"sites": 3/],
  ["journal prune", "--site shop --before 3", /^JOURNAL +DELETED +BEGINS\nshop +2 +3\n$/],
  ["copy", "--from DATABASE --to sqlite:copy.db", /^copied \d+ rows and verified that both databases match\n$/],
  [
    "site sandbox",
    "shop",
    /^shop-sandbox\ncreated the sandbox shop-sandbox with 2 records; to create a key for it: .*--sandbox\n$/,
  ],
  ["check", "", /^no faults found\n$/],
];

test.each(calls)("%s %s on PostgreSQL", async (command, args, printed, stdin = "") => {
  const words = `${command} ${args}`
    .replace("URL", receiver.url)
    .replace("KEY", key)
    .replace("DATABASE", workspace.database);
  const { code, stdout, stderr } = await workspace.run(words.trim().split(" "), { stdin, asProcess: true });
  expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(printed)]);
  if (command === "key create") key = stdout.trim();
});

test("every command but the servers' is tested here", async () => {
  const known = new Set(["serve", "health", "help", ...calls.map(([command]) => command)]);
  expect(namesOf(await createProgram(undefined)).filter((name) => !known.has(name))).toEqual([]);
});

/** The names of all commands below `parent`, except groups. */
function namesOf(parent: Command, above = ""): string[] {
  return parent.commands.flatMap((command) => {
    const name = above + command.name();
    return command.commands.length > 0 ? namesOf(command, `${name} `) : [name];
  });
}
