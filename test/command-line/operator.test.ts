import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { openWorkspace, type Workspace } from "../support/programs/command.ts";

describe("storefront operator", () => {
  let workspace: Workspace;
  beforeEach(() => {
    workspace = openWorkspace();
  });
  afterEach(() => workspace.close());

  const json = async (...args: string[]) => JSON.parse(await workspace.mustRun([...args, "--json"]));
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await workspace.run(args);
    return { code, stdout, stderr };
  };

  test("adds operators for all sites or some, lists them and removes them", async () => {
    await workspace.data.addSite("garden");
    await workspace.data.addSite("toys");
    expect(await workspace.mustRun(["operator", "add", "anna"])).toBe("1\n");
    expect(await json("operator", "add", "ben", "--site", "toys", "--site", "garden")).toMatchObject({
      name: "ben",
      sites: ["garden", "toys"],
    });
    const list = await workspace.mustRun(["operator", "list"]);
    expect(list.split("\n")[0]).toMatch(/^ID +NAME +SITES +ROLE +SIGNS IN WITH +CREATED \(UTC\) +SIGNED IN \(UTC\)$/);
    expect(list).toMatch(/^1 +anna +all +admin +links /m);
    expect(list).toMatch(/^2 +ben +garden, toys +admin +links /m);
    await workspace.mustRun(["site", "remove", "toys", "--yes"]);
    const operators = await json("operator", "list");
    expect(operators.map(({ name, sites }: { name: string; sites: unknown }) => [name, sites])).toEqual([
      ["anna", null],
      ["ben", ["garden"]],
    ]);
    await workspace.mustRun(["operator", "remove", "ben"]);
    expect(await json("operator", "list")).toHaveLength(1);
  });

  test("changes an operator's sites, but needs --yes for the last operator of all sites", async () => {
    await workspace.mustRun(["site", "add", "garden"]);
    await workspace.mustRun(["site", "add", "toys"]);
    await workspace.mustRun(["operator", "add", "anna"]);
    await workspace.mustRun(["operator", "add", "ben", "--site", "garden"]);
    const set = (...args: string[]) => json("operator", "set", ...args);
    expect(await set("ben", "--site", "toys")).toMatchObject({ name: "ben", sites: ["toys"] });
    expect(await set("ben", "--all-sites")).toMatchObject({ sites: null });
    expect(await set("ben", "--site", "toys", "--site", "garden")).toMatchObject({ sites: ["garden", "toys"] });
    const { code, stderr } = await run("operator", "set", "anna", "--site", "garden");
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/`anna` is the last admin of all sites.*add --yes to limit them/),
    ]);
    expect(await set("anna", "--site", "garden", "--yes")).toMatchObject({ sites: ["garden"] });
    const journal = await workspace.mustRun(["journal", "--system"]);
    expect(journal.match(/\tupdate\toperator\t/g)).toHaveLength(4);
    const { stdout, stderr: said } = await run("operator", "set", "anna", "--all-sites");
    expect([stdout, said]).toEqual(["", expect.stringContaining("the operator anna can now manage all sites")]);
  });

  test("adds an operator with a role and changes roles, but needs --yes for the last admin", async () => {
    await workspace.mustRun(["operator", "add", "anna"]);
    expect(await json("operator", "add", "ben", "--role", "viewer")).toMatchObject({ sites: null, role: "viewer" });
    expect(await json("operator", "role", "ben", "editor")).toMatchObject({ name: "ben", role: "editor" });
    expect(await workspace.mustRun(["operator", "list"])).toMatch(/^2 +ben +all +editor /m);
    const { code, stderr } = await run("operator", "role", "anna", "viewer");
    expect([code, stderr]).toEqual([1, expect.stringMatching(/`anna` is the last admin of all sites.*--yes/)]);
    const limited = await run("operator", "role", "anna", "viewer", "--yes");
    expect([limited.stdout, limited.stderr]).toEqual(["", "the operator anna now has the role viewer\n"]);
    expect(await json("operator", "role", "anna", "Admin")).toMatchObject({ role: "admin" });
    const operators = await json("operator", "list");
    expect(operators.map(({ role }: { role: string }) => role)).toEqual(["admin", "editor"]);
    expect((await workspace.mustRun(["journal", "--system"])).match(/\tupdate\toperator\t/g)).toHaveLength(3);
  });

  test("also accepts the first names of the roles, and stores those", async () => {
    for (const [first, role] of [
      ["read", "viewer"],
      ["records", "editor"],
      ["all", "admin"],
    ] as const) {
      expect(await json("operator", "add", first, "--role", first)).toMatchObject({ role });
      expect(await json("operator", "role", first, first)).toMatchObject({ role });
    }
    const stored = (await workspace.mustRun(["journal", "--system", "--json"])).match(/"Role":"\w*"/g) ?? [];
    expect(new Set(stored)).toEqual(new Set(['"Role":"read"', '"Role":"records"', '"Role":""']));
  });

  test("needs --yes to remove the last operator of all sites", async () => {
    await workspace.data.addSite("garden");
    await workspace.mustRun(["operator", "add", "anna"]);
    await workspace.mustRun(["operator", "add", "ben", "--site", "garden"]);
    const { code, stderr } = await run("operator", "remove", "anna");
    expect([code, stderr.trim().split("\n")]).toEqual([
      1,
      [expect.stringMatching(/`anna` is the last admin of all sites.*add --yes/)],
    ]);
    await workspace.mustRun(["operator", "remove", "anna", "--yes"]);
    expect(await json("operator", "list")).toHaveLength(1);
  });

  test("prints a link that works once on the running server, and ends sessions with sign-out", async () => {
    const { adminUrl = "" } = await workspace.serve(["--admin", "127.0.0.1:0"]);
    await workspace.mustRun(["operator", "add", "anna"]);
    const link = await workspace.mustRun(["operator", "link", "anna", "--url", adminUrl]);
    expect(link).toMatch(new RegExp(`^${adminUrl}/#sign-in=[0-9A-Za-z]{32}\n$`));
    const secret = link.trim().split("=")[1];
    const headers = { Origin: adminUrl, "Content-Type": "application/json" };
    const signIn = (text = secret) =>
      fetch(`${adminUrl}/operator/session`, { method: "POST", headers, body: JSON.stringify({ link: text }) });
    const first = await signIn();
    expect([first.status, (await signIn()).status]).toEqual([200, 401]);
    const Cookie = first.headers.get("Set-Cookie")?.split(";", 1)[0] ?? "";
    const sites = async () => (await fetch(`${adminUrl}/operator/sites`, { headers: { Cookie } })).status;
    const unused = (await workspace.mustRun(["operator", "link", "anna", "--url", adminUrl])).trim().split("=")[1];
    expect(await sites()).toBe(200);
    await workspace.mustRun(["operator", "sign-out", "anna"]);
    expect([await sites(), (await signIn(unused)).status]).toEqual([401, 401]);
  });

  test("prints a link for the address in the settings, and warns if nothing is listening there", async () => {
    const { stderr: added } = await workspace.run(["operator", "add", "o'neil b"]);
    expect(added).toContain("operator link 'o'\\''neil b'");
    const server = await workspace.serve(["--admin", "127.0.0.1:0"]);
    const { host } = new URL(server.adminUrl ?? "");
    const link = () => workspace.run(["operator", "link", "o'neil b"], { env: { STOREFRONT_ADMIN: host } });
    const running = await link();
    expect(running.stdout).toStartWith(`http://${host}/#sign-in=`);
    expect(running.stderr).not.toContain("nothing listens");
    server.kill();
    await server.exited;
    const stopped = await link();
    expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining(`http://${host}/#sign-in=`)]);
    expect(stopped.stderr).toContain(`nothing is listening at http://${host}: start the server`);
  });

  test("prints an https link only if the admin listener uses the certificate, which it doesn't on a loopback address", async () => {
    await workspace.mustRun(["operator", "add", "anna"]);
    const tls = { STOREFRONT_TLS_CERT: "cert.pem", STOREFRONT_TLS_KEY: "key.pem" };
    const link = async (admin: string) => {
      const { stdout } = await workspace.run(["operator", "link", "anna"], {
        env: { ...tls, STOREFRONT_ADMIN: admin },
      });
      return stdout.split("#", 1)[0];
    };
    expect([await link("0.0.0.0:1"), await link("127.0.0.1:1")]).toEqual([
      "https://127.0.0.1:1/",
      "http://127.0.0.1:1/",
    ]);
  });

  test("prints a link for the console's public address, also a break-glass one", async () => {
    await workspace.mustRun(["operator", "add", "anna"]);
    writeFileSync(workspace.file("secret"), "s");
    const env = {
      STOREFRONT_ADMIN_URL: "https://console.example",
      STOREFRONT_OIDC_ISSUER: "https://login.example",
      STOREFRONT_OIDC_CLIENT_ID: "storefront",
      STOREFRONT_OIDC_SECRET_FILE: workspace.file("secret"),
      STOREFRONT_OIDC_ROLE: "groups=admins:admin",
    };
    const link = (more: Record<string, string>, ...args: string[]) =>
      workspace.run(["operator", "link", "anna", ...args], { env: { ...env, ...more } });
    expect((await link({})).stdout).toMatch(/^https:\/\/console\.example\/#sign-in=\w{32}\n$/);
    expect(await link({ STOREFRONT_SIGN_IN_LINKS: "none" }, "--break-glass")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("#sign-in="),
    });
  });

  const bad: [string, string[], number, RegExp][] = [
    [
      "a link for an unknown operator",
      ["link", "nobody", "--url", "https://a.example"],
      1,
      /unknown operator `nobody`: known operators: anna/,
    ],
    ["a change without options", ["set", "anna"], 2, /either --site or --all-sites/],
    [
      "a change to some sites and to all",
      ["set", "anna", "--site", "x", "--all-sites"],
      2,
      /either --site or --all-sites/,
    ],
    ["a change to an unknown role", ["role", "anna", "auditor"], 2, /Allowed choices are viewer, editor, admin/],
    ["a role of an unknown operator", ["role", "nobody", "viewer"], 1, /unknown operator `nobody`/],
    ["a new operator with an unknown role", ["add", "ben", "--role", "owner"], 2, /Allowed choices/],
    ["a change to an unknown operator", ["set", "nobody", "--all-sites"], 1, /unknown operator `nobody`/],
    ["a change to an unknown site", ["set", "anna", "--site", "nowhere"], 1, /unknown site `nowhere`/],
    ["a sign-out of an unknown operator", ["sign-out", "nobody"], 1, /unknown operator `nobody`/],
    ["a removal of an unknown operator", ["remove", "nobody"], 1, /unknown operator `nobody`/],
    ["a name that is taken", ["add", "anna"], 1, /operator `anna` already exists/],
    ["a new operator of an unknown site", ["add", "ben", "--site", "nowhere"], 1, /unknown site `nowhere`/],
    ["a name with a terminal escape", ["add", "\u001b[31mben"], 1, /remove U\+001B/],
    ["an empty name", ["add", ""], 1, /Name/],
    ["a name that is too long", ["add", "b".repeat(65)], 1, /64/],
    ["an address that is not a URL", ["link", "anna", "--url", "console"], 2, /invalid --url `console`/],
    ["an address with another scheme", ["link", "anna", "--url", "ftp://a.example"], 2, /invalid --url/],
    ["an address with a path", ["link", "anna", "--url", "https://a.example/console"], 2, /invalid --url/],
    ["an address with a password", ["link", "anna", "--url", "https://a:b@a.example"], 2, /invalid --url/],
  ];
  test("rejects wrong arguments with one line, and changes nothing", async () => {
    await workspace.mustRun(["operator", "add", "anna"]);
    for (const [name, args, code, message] of bad) {
      const ended = await run("operator", ...args);
      expect([name, ended.code, ended.stdout]).toEqual([name, code, ""]);
      expect(ended.stderr).toMatch(message);
      expect(ended.stderr).not.toContain("\u001b[31mben");
    }
    expect(await json("operator", "list")).toHaveLength(1);
  });

  test("needs an address for the link if the server has no admin listener", async () => {
    await workspace.mustRun(["operator", "add", "anna"]);
    const { code, stderr } = await run("operator", "link", "anna");
    expect(code).toBe(2);
    expect(stderr).toContain("pass its URL with --url");
  });
});
