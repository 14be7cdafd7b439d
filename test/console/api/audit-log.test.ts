// The audit log in the API of the console: what's in it, and who sees what.

import { describe, expect, test } from "bun:test";
import { consoleActor, recordEvent } from "../../../src/operator/journal/events.ts";
import { listOperators, setOperator } from "../../../src/operator/operators/operators.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { useConsoleOn } from "../../support/console/use-console.ts";
import { engines } from "../../support/engine/engines.ts";
import { waitUntil } from "../../support/time.ts";

interface Entry {
  readonly actor: string;
  readonly subject: string;
  readonly operation: string;
  readonly name: string;
  readonly run: string | null;
  readonly site: { readonly name: string | null } | null;
  readonly before: Record<string, string> | null;
  readonly after: Record<string, string> | null;
}

const log = "/audit-log";
const secretUrl = "https://hooks.example/T01?token=hunter2hunter2";

describe.each(engines)("the audit log on $name", (kind) => {
  let server: TestConsole;
  let anna: ConsoleClient;
  useConsoleOn(kind, (started, operator) => {
    [server, anna] = [started, operator];
  });

  const entriesOf = async (client: ConsoleClient, query = ""): Promise<readonly Entry[]> =>
    (await client.call("GET", `${log}${query}`)).json.entries;
  const kindsIn = (entries: readonly Entry[]) => entries.flatMap(({ after }) => after?.Kind ?? []);

  test("has changes to keys, sign-ins and sign-outs, with who made them, but no digest", async () => {
    const made = await anna.call("POST", "/sites/shop/keys", {
      label: "till",
      scope: "read",
      rate: null,
      expires: null,
    });
    await anna.call("POST", `/sites/shop/keys/${made.json.id}/revoke`, {});
    const ben = await server.signIn("ben");
    await ben.call("DELETE", "/session");
    const entries = await entriesOf(anna);
    expect(entries.slice(0, 4)).toMatchObject([
      { subject: "sign-ins", actor: "console:ben", before: null, after: { Kind: "sign-out", Name: "ben" } },
      { actor: "console:ben", after: { Kind: "sign-in", Detail: "link", Address: "127.0.0.1" } },
      { after: { Kind: "link", Name: "ben" } },
      { subject: "operators", operation: "create", name: "ben" },
    ]);
    expect(entries.filter(({ subject, actor }) => subject === "keys" && actor === "console:anna")).toMatchObject([
      {
        operation: "update",
        site: { name: "shop" },
        before: { Revoked: "" },
        after: { Revoked: expect.stringMatching(/^20/) },
      },
      { operation: "create", after: { Label: "till", Scope: "read" } },
    ]);
    const { text } = await anna.call("GET", log);
    expect(text).not.toMatch(/Digest|[0-9a-f]{64}/);
    const [key] = (await entriesOf(anna, "?subject=keys&actor=anna")) as [Entry];
    expect(await entriesOf(anna, "?subject=keys&actor=nobody")).toEqual([]);
    expect(key.run).toMatch(/^[0-9A-Za-z]{8}$/);
  });

  test("has imports with their file and rows, and exports", async () => {
    const imports = "/sites/shop/imports";
    const { id } = (await anna.call("POST", imports, { resource: "brands", name: "suppliers\u0000.csv" })).json;
    const octets = { "Content-Type": "application/octet-stream" };
    const rows = Buffer.from(`Name\nOak\nElm\n${"x".repeat(300)}\n`);
    await anna.call("PUT", `${imports}/${id}/parts/0`, rows, octets);
    const stateOf = async () => (await anna.call("GET", `${imports}/${id}`)).json.state;
    await anna.call("POST", `${imports}/${id}/check`, {});
    await waitUntil(async () => (await stateOf()) === "checked", "the check");
    expect(kindsIn(await entriesOf(anna, "?subject=imports"))).toEqual([]);
    const { run } = (await anna.call("POST", `${imports}/${id}/run`, {})).json;
    await waitUntil(async () => (await stateOf()) === "done", "the import");
    await anna.call("GET", "/sites/shop/records/brands/export?format=xlsx");
    await anna.call("GET", "/sites/shop/history/export");
    expect(await entriesOf(anna, "?site=shop&subject=imports")).toMatchObject([
      {
        run,
        actor: "console:anna",
        after: {
          Name: "suppliers\ufffd.csv",
          Resource: "brands",
          Rows: "2 created, 0 updated, 0 removed, 1 rejected",
          Detail: "",
        },
      },
    ]);
    expect((await entriesOf(anna, "?subject=exports")).map(({ after }) => after?.Name)).toEqual([
      "shop-history.csv",
      expect.stringMatching(/^shop-brands-[-0-9]{10}\.xlsx$/),
    ]);
  });

  test("shows an operator of some sites only what's about these, and their own sign-ins", async () => {
    await createSite(server.engine, "toys", {}, Date.now());
    for (const site of ["shop", "toys"]) {
      await anna.call("POST", `/sites/${site}/keys`, {
        label: `${site} key`,
        scope: "read",
        rate: null,
        expires: null,
      });
      await anna.call("GET", `/sites/${site}/records/brands/export?format=csv`);
    }
    await anna.call("POST", "/sites/shop/sandbox", {});
    const ben = await server.signIn("ben", ["shop"]);
    await ben.call("GET", "/operators");
    await waitUntil(async () => (await entriesOf(ben, "?subject=refusals")).length > 0, "the refusal to be recorded");
    const entries = await entriesOf(ben, "?limit=200");
    const { text } = await ben.call("GET", `${log}/export`);
    for (const shown of [JSON.stringify(entries), text]) {
      expect(shown).not.toMatch(/toys/);
      expect(shown).toMatch(/shop key/);
    }
    const subjects = new Set(entries.map(({ subject }) => subject));
    expect(subjects).toEqual(new Set(["refusals", "sign-ins", "sites", "exports", "keys"]));
    expect(entries.some(({ name }) => name === "shop-sandbox")).toBe(true);
    expect(entries.filter(({ subject }) => subject === "sign-ins").map(({ after }) => after?.Name)).toEqual([
      "ben",
      "ben",
    ]);
    expect((await ben.call("GET", `${log}?site=toys`)).status).toBe(404);
    expect((await (await server.signIn("carl", ["shop"], "editor")).call("GET", log)).status).toBe(403);
  });

  test("hides secrets of webhooks' URLs from those who may only look", async () => {
    const made = await anna.call("POST", "/sites/shop/webhooks", { url: secretUrl });
    expect(made.status).toBe(200);
    expect(JSON.stringify(await entriesOf(anna, "?subject=webhooks"))).toContain("hunter2");
    const viewer = await server.signIn("vera", [], "viewer");
    for (const path of [log, `${log}/export`]) {
      const { text } = await viewer.call("GET", path);
      expect(text).toContain("hooks.example");
      expect(text).not.toMatch(/hunter2|whsec_/);
    }
    expect(kindsIn(await entriesOf(viewer)).filter((one) => one === "sign-in")).toEqual(["sign-in"]);
  });

  test("counts refused sign-ins of strangers, and names what a role didn't allow", async () => {
    const attempt = () =>
      fetch(`${server.adminUrl}/operator/session`, {
        method: "POST",
        headers: { Origin: server.adminUrl, "Content-Type": "application/json" },
        body: JSON.stringify({ link: "x".repeat(32) }),
      });
    for (let n = 0; n < 30; n++) await attempt();
    const ben = await server.signIn("ben", [], "editor");
    for (let n = 0; n < 13; n++) await ben.call("POST", "/sites/shop/keys", {});
    await waitUntil(async () => (await entriesOf(anna, "?subject=refusals")).length === 20, "the first to be recorded");
    // The rest is recorded at the end of the minute, or when the server stops.
    const start = await server.stopAdmin();
    await start();
    const refusals = await entriesOf(anna, "?subject=refusals");
    expect(refusals).toHaveLength(22);
    const one = { Kind: "refused-action", Name: "POST /operator/sites/{site}/keys", Detail: "settings", Count: "" };
    for (const expected of [
      { actor: "console:ben", after: { Kind: "refused-action", Count: "3" } },
      { actor: "console:ben", after: one },
      { actor: "console", after: { Kind: "refused-sign-in", Count: "20" } },
      { actor: "console", after: { Kind: "refused-sign-in", Count: "", Address: "127.0.0.1" } },
    ])
      expect(refusals).toContainEqual(
        expect.objectContaining({ ...expected, after: expect.objectContaining(expected.after) }),
      );
  });

  test("comes in pages, and as CSV", async () => {
    for (let n = 0; n < 5; n++) await anna.call("POST", "/sites", { name: `site${n}` });
    const names: string[] = [];
    let next: number | null = null;
    do {
      const page: { entries: Entry[]; next: number | null } = (
        await anna.call("GET", `${log}?subject=sites&limit=2${next === null ? "" : `&before=${next}`}`)
      ).json;
      names.push(...page.entries.map(({ name }) => name));
      next = page.next;
    } while (next !== null);
    expect(names).toEqual(["site4", "site3", "site2", "site1", "site0", "shop"]);
    await anna.call("POST", "/sites/shop/keys", { label: "=HYPERLINK(1)", scope: "read", rate: null, expires: null });
    expect((await anna.call("GET", `${log}/export?subject=keys`)).text).toContain(",'=HYPERLINK(1),");
    const file = await anna.call("GET", `${log}/export?subject=sites&actor=anna`);
    expect(file.headers.get("Content-Disposition")).toContain("audit-log.csv");
    expect(file.text.split("\r\n").filter((line) => line.includes(",Name,"))).toHaveLength(5);
    for (const query of ["?subject=nothing", "?before=x", "?limit=1000", "?from=yesterday", "?site=unknown"])
      expect([query, (await anna.call("GET", log + query)).status >= 400]).toEqual([query, true]);
  });

  test("knows when each operator last signed in, whichever way", async () => {
    await server.addOperator("ben");
    const [, ben] = await listOperators(server.engine);
    expect(ben?.signedIn).toBeUndefined();
    const signIn = { kind: "sign-in", operator: ben?.ID, name: "ben", detail: "single-sign-on" } as const;
    await recordEvent(server.engine, signIn, 1_000, { actor: consoleActor("ben") });
    await setOperator(server.engine, "ben", { role: "viewer" }, Date.now());
    const { operators } = (await anna.call("GET", "/operators")).json;
    expect(operators.map(({ signedIn }: { signedIn: string }) => signedIn)).toEqual([
      expect.stringMatching(/^20/),
      "1970-01-01T00:00:01.000Z",
    ]);
    const [entry] = await entriesOf(anna, "?subject=sign-ins&actor=ben");
    expect(entry).toMatchObject({ actor: "console:ben", after: { Detail: "single-sign-on" } });
  });
});

test("the audit log has the address from X-Forwarded-For and the connection's own, whatever the header says", async () => {
  const server = await startTestConsole({ settings: { TRUST_PROXY: "yes" } });
  const anna = await server.signIn("anna");
  const attempt = (forwarded: string) =>
    fetch(`${server.adminUrl}/operator/session`, {
      method: "POST",
      headers: { Origin: server.adminUrl, "Content-Type": "application/json", "X-Forwarded-For": forwarded },
      body: JSON.stringify({ link: "x" }),
    });
  for (const forwarded of ["192.0.2.1, 198.51.100.7", "2001:db8::1", `fe80::1%${"a".repeat(300)}`, "anna"])
    await attempt(forwarded);
  await (await server.stopAdmin())();
  const { entries } = (await anna.call("GET", "/audit-log?subject=refusals")).json;
  const addresses = entries.map(({ after }: Entry) => after?.Address);
  expect(addresses.toReversed()).toEqual([
    "198.51.100.7 via 127.0.0.1",
    "2001:db8::1 via 127.0.0.1",
    "127.0.0.1",
    "127.0.0.1",
  ]);
  await server.stop();
});
