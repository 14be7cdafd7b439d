import { afterAll, describe, expect, test } from "bun:test";
import { fetchWithKey, openWorkspace, quote } from "../support/programs/command.ts";
import { waitUntil } from "../support/time.ts";

const workspace = openWorkspace();
await workspace.data.addSite("main", { isDefault: true });
const server = await workspace.serve();
afterAll(() => workspace.close());

const status = async (key: string, headers = {}) =>
  (await fetchWithKey(`${server.url}/restapi/brands.json`, key, { headers })).status;
const newKey = async (...args: string[]) =>
  (await workspace.mustRun(["key", "create", "--site", "main", ...args])).trim();
const prefixOf = (key: string) => key.slice(0, 12);

describe("site", () => {
  test("is added, listed, changed and removed, and a running server follows each change", async () => {
    expect(await workspace.mustRun(["site", "add", "garden", "--hostname", "Garden.example"])).toMatch(/^\d+\n$/);
    const key = await workspace.data.addKey("garden");
    expect(await status(key, { Host: "garden.example" })).toBe(200);
    await workspace.mustRun(["site", "set", "garden", "--name", "patio", "--hostname", "patio.example"]);
    expect(await status(key, { Host: "patio.example" })).toBe(200);
    expect(await status(key, { Host: "garden.example" })).toBe(403);
    const listed = JSON.parse(await workspace.mustRun(["site", "list", "--json"]));
    expect(listed.at(-1)).toMatchObject({ name: "patio", hostnames: ["patio.example"], isDefault: false });
    expect((await workspace.run(["site", "remove", "patio"])).code).toBe(1);
    await workspace.mustRun(["site", "remove", "patio", "--yes"]);
    expect(await status(key, { Host: "patio.example" })).toBe(401);
  });

  test("can be added only once per name and hostname, even by simultaneous commands", async () => {
    const add = (name: string, host: string) =>
      workspace.run(["site", "add", name, "--hostname", host], { asProcess: true });
    const names = await Promise.all([1, 2, 3, 4].map((n) => add("twin", `twin${n}.example`)));
    expect(names.map(({ code }) => code).sort()).toEqual([0, 1, 1, 1]);
    const hosts = await Promise.all([1, 2, 3, 4].map((n) => add(`host-${n}`, "same.example")));
    expect(hosts.map(({ code }) => code).sort()).toEqual([0, 1, 1, 1]);
    const others = await Promise.all([1, 2, 3, 4].map((n) => add(`other-${n}`, `other${n}.example`)));
    expect(others.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  });

  test("from a list is added with its key, and served", async () => {
    const rows = Array.from({ length: 300 }, (_, n) => `list-${n},list-${n}.example www.list-${n}.example,\n`);
    const { code, stdout, stderr } = await workspace.run(["site", "add", "--from", "-", "--with-key"], {
      stdin: `name,hostnames,default\n${rows.join("")}`,
    });
    expect([code, stderr]).toEqual([0, "created 300 sites; save their keys now, because they can't be shown again\n"]);
    const [header, ...lines] = stdout.trimEnd().split("\n");
    expect([header, lines.length]).toEqual(["name,key", 300]);
    const [name, key = ""] = lines.at(-1)?.split(",") ?? [];
    expect(name).toBe("list-299");
    expect(await status(key, { Host: "www.list-299.example" })).toBe(200);
    const again = await workspace.run(["site", "add", "--from", "-"], { stdin: "name\nnew\nlist-7\nmain\n" });
    expect([again.code, again.stdout]).toEqual([1, ""]);
    expect(again.stderr).toMatch(
      /`row 3`: the site `list-7` already exists \(and 1 more\)\n.*`row 4`: the site `main`/,
    );
    expect((await workspace.run(["site", "show", "new"])).code).toBe(1);
  });

  test("is added with a key, and only the key is printed on stdout", async () => {
    const key = await workspace.mustRun(["site", "add", "keyed", "--hostname", "keyed.example", "--with-key"]);
    expect(key).toMatch(/^sfk_[0-9A-Za-z]{42}\n$/);
    expect(await status(key.trim(), { Host: "keyed.example" })).toBe(200);
    for (const args of [[], ["x", "--from", "-"], ["--from", "-", "--default"]])
      expect((await workspace.run(["site", "add", ...args], { stdin: "name\nx\n" })).code).toBe(2);
  });

  test("is removed again if its key can't be printed, and the default site stays the same", async () => {
    const before = await workspace.mustRun(["site", "list", "--json"]);
    const list = "name,hostnames,default\nlost-1,lost-1.example,yes\nlost-2,,\n";
    const calls: [string[], string][] = [
      [["lost", "--default", "--json"], "the site lost was removed again"],
      [["--from", "-"], "the 2 sites were removed again"],
    ];
    for (const wrap of [
      (command: string) => `${command} > /dev/full`,
      (command: string) => `set -o pipefail; (sleep 0.1; ${command}) | true`,
    ]) {
      for (const [args, removed] of calls) {
        const bash = (command: string) => `exec bash -c ${quote(wrap(command))}`;
        const { code, stderr } = await workspace.run(["site", "add", "--with-key", ...args], {
          stdin: list,
          wrap: bash,
        });
        expect([code, stderr]).toEqual([1, expect.stringMatching(/^storefront: .*standard output.*$/m)]);
        expect(stderr).toContain(`${removed}, because nobody has the key`);
      }
    }
    expect(await workspace.mustRun(["site", "list", "--json"])).toBe(before);
    expect(JSON.parse(before).some(({ isDefault }: { isDefault: boolean }) => isDefault)).toBe(true);
    expect((await workspace.run(["check"])).stderr).toBe("no faults found\n");
  });

  test("is suspended and resumed, and shown with its state", async () => {
    await workspace.data.addSite("pause", { hostnames: ["pause.example"] });
    const key = await workspace.data.addKey("pause");
    await workspace.mustRun(["import", "--site", "pause", "brands", "-"], { stdin: "Name\nOnly\n" });
    await workspace.mustRun(["site", "set", "pause", "--suspend", "--add-hostname", "www.pause.example"]);
    expect(await status(key, { Host: "www.pause.example" })).toBe(403);
    const shown = await workspace.mustRun(["site", "show", "pause"]);
    expect(shown).toMatch(
      /Hostnames {2}pause\.example www\.pause\.example\n.*\nState {6}suspended since .* UTC\nSandbox {4}none\nKeys {7}1, of which 1 is valid\nWebhooks {3}0\nRecords {4}1 brand, .*\nRevision {3}1, of /,
    );
    expect(JSON.parse(await workspace.mustRun(["site", "show", "pause", "--json"]))).toMatchObject({
      name: "pause",
      records: { brands: 1 },
      revision: 1,
    });
    await workspace.mustRun(["site", "set", "pause", "--resume", "--remove-hostname", "pause.example"]);
    expect(await status(key, { Host: "www.pause.example" })).toBe(200);
    await workspace.mustRun(["site", "set", "pause", "--no-key-webhooks"]);
    expect(await workspace.mustRun(["site", "show", "pause"])).toContain("served, API keys can't manage webhooks");
    expect(JSON.parse(await workspace.mustRun(["site", "show", "pause", "--json"])).keyWebhooks).toBe(false);
    expect((await workspace.run(["site", "set", "pause"])).code).toBe(2);
    expect((await workspace.run(["site", "set", "pause", "--suspend", "--resume"])).code).toBe(2);
    expect((await workspace.run(["site", "show", "puase"])).stderr).toMatch(/did you mean `pause`/);
  });

  test("stores a hostname the way clients send it", async () => {
    const site = await workspace.mustRun(["site", "add", "idn", "--hostname", "BÜCHER.example", "--json"]);
    expect(JSON.parse(site).hostnames).toEqual(["xn--bcher-kva.example"]);
    const changed = await workspace.mustRun([
      "site",
      "set",
      "idn",
      "--hostname",
      "BÜCHER.example.",
      "--hostname",
      "::1",
      "--json",
    ]);
    expect(JSON.parse(changed).hostnames).toEqual(["xn--bcher-kva.example", "[::1]"]);
    const key = await workspace.data.addKey("idn");
    expect(await status(key, { Host: "[0::1]:8080" })).toBe(200);
    await workspace.mustRun(["site", "set", "idn", "--hostname", ""]);
    expect(await status(key, { Host: "[::1]" })).toBe(403);
    await workspace.mustRun(["site", "set", "idn", "--hostname", "bücher.example"]);
  });

  const rejected: [string, string[], RegExp][] = [
    ["a name already taken", ["add", "main"], /the site `main` already exists/],
    ["a name with blanks", ["add", "Main Site"], /lower-case letters, digits and hyphens/],
    [
      "a hostname that is a URL",
      ["add", "x", "--hostname", "https://x.example/"],
      /give only the hostname, `x\.example`/,
    ],
    ["two hostnames in one", ["add", "x", "--hostname", "bad host!"], /give one hostname at a time/],
    ["an empty hostname", ["add", "x", "--hostname", ""], /it is empty/],
    [
      "a hostname already taken in another spelling",
      ["add", "x", "--hostname", "XN--bcher-kva.example."],
      /already belongs to the site `idn`/,
    ],
    ["a misspelt name", ["set", "mian", "--default"], /unknown site `mian`: did you mean `main`\?/],
    ["a removal without --yes", ["remove", "main"], /add --yes/],
  ];
  test.each(rejected)("commands reject %s in one line", async (_, args, line) => {
    const { code, stdout, stderr } = await workspace.run(["site", ...args]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(line);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });
});

describe("key", () => {
  test("create prints nothing but the key on stdout", async () => {
    const { stdout } = await workspace.run(["key", "create", "--site", "main", "--label", "till"]);
    expect(stdout).toMatch(/^sfk_[0-9A-Za-z]{42}\n$/);
  });

  test("list shows the label, scope and prefix, but never the key", async () => {
    const key = await newKey("--label", "the list", "--scope", "read", "--expires", "90d");
    const list = await workspace.mustRun(["key", "list", "--site", "main"]);
    expect(list).toContain(prefixOf(key));
    expect(list).toContain("the list");
    expect(list).not.toContain(key);
    const json = await workspace.mustRun(["key", "list", "--site", "main", "--json"]);
    const time = expect.stringMatching(/^\d{4}-.*Z$/);
    const rights = ["brands:read", "orderstatuses:read", "locations:read", "changes:read"];
    const limits = { scope: "read", can: ["read"], rights, networks: [] };
    const settings = { site: "main", prefix: prefixOf(key), label: "the list", rate: null, ...limits };
    const times = { created: time, expires: time, revoked: null, lastUsed: null };
    const state = { former: [], state: "valid", endsSoon: false };
    expect(JSON.parse(json).at(-1)).toEqual({ id: expect.any(Number), ...settings, ...times, ...state });
  });

  test("list shows the keys of all sites, with their rates", async () => {
    await workspace.data.addSite("listed");
    await workspace.mustRun(["key", "create", "--site", "listed", "--rate", "5"]);
    const list = await workspace.mustRun(["key", "list"]);
    expect(list).toMatch(/^PREFIX +SITE +LABEL +RIGHTS +FROM +RATE /);
    expect(list).toMatch(/ main .* default /);
    expect(list).toMatch(/ listed +write +any +5 /);
    expect(await workspace.mustRun(["key", "list", "--site", "listed"])).not.toMatch(/ main /);
  });

  test("create takes rights and networks as lists or repeated, and set replaces them", async () => {
    const key = await newKey(
      "--can",
      "brands:write,orderstatuses:read",
      "--can",
      "changes:read",
      "--from",
      "::1,127.0.0.1",
    );
    const infoOf = async () =>
      JSON.parse(await workspace.mustRun(["key", "list", "--json"])).find(
        ({ prefix }: { prefix: string }) => prefix === prefixOf(key),
      );
    expect(await infoOf()).toMatchObject({
      scope: null,
      can: ["brands:write", "orderstatuses:read", "changes:read"],
      networks: ["::1/128", "127.0.0.1/32"],
    });
    expect(await workspace.mustRun(["key", "list"])).toMatch(
      /brands:write orderstatuses:read changes:read +::1\/128 127/,
    );
    await workspace.mustRun([
      "key",
      "set",
      prefixOf(key),
      "--scope",
      "read",
      "--can",
      "webhooks:write",
      "--from",
      "any",
    ]);
    expect(await infoOf()).toMatchObject({ scope: "read", can: ["read", "webhooks:write"], networks: [] });
    const bad = await workspace.run(["key", "create", "--site", "main", "--can", "brands:wirte"]);
    expect([bad.code, bad.stdout]).toEqual([1, ""]);
    expect(bad.stderr).toContain("did you mean `brands:write`?");
    expect((await workspace.run(["key", "set", prefixOf(key), "--from", "10.0.0.1/8"])).stderr).toContain(
      "`10.0.0.0/8`",
    );
  });

  test("set changes a key's label, rate and expiry, and the key stays valid", async () => {
    const key = await newKey("--label", "before");
    await workspace.mustRun(["key", "set", prefixOf(key), "--label", "after", "--rate", "3", "--expires", "90d"]);
    const [changed] = JSON.parse(await workspace.mustRun(["key", "list", "--json"])).filter(
      ({ prefix }: { prefix: string }) => prefix === prefixOf(key),
    );
    expect(changed).toMatchObject({ label: "after", rate: 3, site: "main" });
    expect(changed.expires).not.toBeNull();
    expect(await status(key)).toBe(200);
    await workspace.mustRun(["key", "set", prefixOf(key), "--expires", "never", "--rate", "default"]);
    expect((await workspace.run(["key", "set", prefixOf(key)])).code).toBe(2);
    expect((await workspace.run(["key", "set", prefixOf(key), "--rate", "0"])).code).toBe(2);
  });

  test("revoke accepts the whole key, and doesn't print it", async () => {
    const key = await newKey();
    const { code, stdout, stderr } = await workspace.run(["key", "revoke", key]);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(key);
    expect(await status(key)).toBe(401);
  });

  test.each([
    8, 11, 12, 13, 14, 45, 46,
  ])("revoke accepts the first %i characters, and prints at most twelve of them", async (length) => {
    const key = await newKey();
    const { code, stdout, stderr } = await workspace.run(["key", "revoke", key.slice(0, length)]);
    expect([code, stdout, stderr]).toEqual([0, "", `revoked the key ${prefixOf(key)}\n`]);
    expect(await status(key)).toBe(401);
  });

  test("revoke and rotate reject text that starts like a key and then differs", async () => {
    const key = await newKey();
    const last = key.endsWith("0") ? "1" : "0";
    for (const other of [
      `${key.slice(0, -1)}${last}`,
      `${key}0`,
      `${key.slice(0, 14)}!`,
      `${key.slice(0, 11)}_`,
      "sfk_0000",
    ]) {
      for (const command of ["revoke", "rotate"]) {
        const { code, stdout, stderr } = await workspace.run(["key", command, other]);
        expect([code, stdout, stderr]).toEqual([
          1,
          "",
          `storefront: no key starts with ${other.slice(0, 12)}; see \`key list\`\n`,
        ]);
      }
    }
    expect(await status(key)).toBe(200);
  });

  test("create sets when the key expires", async () => {
    const [short, long] = [await newKey("--expires", "1s"), await newKey("--expires", "1h")];
    await waitUntil(async () => (await status(short)) === 401, "the end of the key");
    expect(await status(long)).toBe(200);
  });

  const misused: [string, string[]][] = [
    ["no site", ["create"]],
    ["an unknown scope", ["create", "--site", "main", "--scope", "admin"]],
    ["an expiry that is not a duration", ["create", "--site", "main", "--expires", "soon"]],
    ["an expiry of zero days", ["create", "--site", "main", "--expires", "0d"]],
    ["an expiry that is too large", ["create", "--site", "main", "--expires", "999999w"]],
    ["a rate that is not a number", ["create", "--site", "main", "--rate", "many"]],
  ];
  test.each(misused)("create rejects %s", async (_, args) => {
    expect((await workspace.run(["key", ...args])).code).toBe(2);
  });

  test("revoke rejects a prefix that is too short", async () => {
    expect((await workspace.run(["key", "revoke", "sfk_"])).stderr).toMatch(/at least the first 8 characters/);
    expect((await workspace.run(["key", "revoke", ""])).code).toBe(1);
    expect((await workspace.run(["key", "revoke", "sfk_0000"])).stderr).toMatch(/no key starts with sfk_0000/);
  });
});
