// Operators in the API of the console.

import { describe, expect, test } from "bun:test";
import { systemSite } from "../../../src/model/system-site.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import type { ConsoleClient, TestConsole } from "../../support/console/server.ts";
import { useConsoleOn } from "../../support/console/use-console.ts";
import { engines } from "../../support/engine/engines.ts";

describe.each(engines)("operators in the console on $name", (kind) => {
  let server: TestConsole;
  let anna: ConsoleClient;
  useConsoleOn(kind, (started, operator) => {
    [server, anna] = [started, operator];
  });

  const namesOf = async (client: ConsoleClient) =>
    (await client.call("GET", "/sites")).json.sites.map(({ name }: { name: string }) => name);

  test("adds operators, signs them in by a link, signs them out and removes them", async () => {
    const { json } = await anna.call("POST", "/operators", { name: "ben", sites: ["shop"] });
    expect(json.operator).toMatchObject({ name: "ben", sites: ["shop"] });
    const path = `/operators/${json.operator.id}`;
    const { secret } = (await anna.call("POST", `${path}/link`, {})).json;
    const ben = await anna.call("POST", "/session", { link: secret }, { Cookie: "" });
    expect(ben.json).toMatchObject({ operator: "ben", sites: ["shop"] });
    const other = await server.signIn("ben");
    expect((await anna.call("POST", `${path}/sign-out`, {})).status).toBe(200);
    expect((await other.call("GET", "/sites")).status).toBe(401);
    expect((await anna.call("DELETE", path, {})).status).toBe(200);
    expect((await anna.call("DELETE", path, {})).status).toBe(404);
    expect((await anna.call("GET", "/operators")).json.operators).toHaveLength(1);
  });
  if (kind.name === "PostgreSQL") return;

  const badOperators: [string, unknown, number][] = [
    ["an empty list of sites", { name: "ben", sites: [] }, 400],
    ["no sites", { name: "ben" }, 400],
    ["an unknown site", { name: "ben", sites: ["nowhere"] }, 404],
    ["a name that is taken", { name: "anna", sites: null }, 409],
    ["an unknown role", { name: "ben", sites: null, role: "auditor" }, 400],
    ["a role that is no text", { name: "ben", sites: null, role: null }, 400],
    ["a name with a line break", { name: "b\nen", sites: null }, 400],
    ["a name that is too long", { name: "b".repeat(65), sites: null }, 400],
  ];
  test("rejects an invalid operator", async () => {
    for (const [name, body, status] of badOperators)
      expect([name, (await anna.call("POST", "/operators", body)).status]).toEqual([name, status]);
    expect((await anna.call("GET", "/operators")).json.operators).toHaveLength(1);
  });

  test("changes the sites of an operator, with effect on the next request of their sessions", async () => {
    await createSite(server.engine, "toys", {}, 1);
    const ben = await server.signIn("ben", ["shop"]);
    const { operators } = (await anna.call("GET", "/operators")).json;
    const path = `/operators/${operators.find(({ name }: { name: string }) => name === "ben").id}`;
    const changes: [string[] | null, string[]][] = [
      [["toys"], ["toys"]],
      [null, ["shop", "toys"]],
      [
        ["toys", "shop", "toys"],
        ["shop", "toys"],
      ],
    ];
    for (const [sites, reached] of changes) {
      const { json } = await anna.call("PATCH", path, { sites });
      expect([json.operator.sites?.toSorted() ?? null, await namesOf(ben)]).toEqual([
        sites === null ? null : reached,
        reached,
      ]);
      expect((await ben.call("GET", "/operators")).status).toBe(sites === null ? 200 : 403);
    }
    expect((await ben.call("PATCH", path, { sites: null })).status).toBe(403);
    const { entries } = await server.engine.readJournalPage(systemSite, 0, 100);
    const last = entries.findLast(({ resource }) => resource !== "event");
    expect([last?.actor, last?.resource, last?.operation]).toEqual(["console:anna", "operator", "update"]);
  });

  const badChanges: [string, unknown, number][] = [
    ["an empty list of sites", { sites: [] }, 400],
    ["no sites", {}, 400],
    ["an unknown role", { role: "auditor" }, 400],
    ["an empty list of sites with a role", { sites: [], role: "viewer" }, 400],
    ["an unknown site", { sites: ["nowhere"] }, 404],
    ["some sites for the last operator of all", { sites: ["shop"] }, 409],
  ];
  test("rejects an invalid change of an operator", async () => {
    for (const [name, body, status] of badChanges) {
      expect([name, (await anna.call("PATCH", "/operators/1", body)).status]).toEqual([name, status]);
      expect([name, (await anna.call("PATCH", "/operators/99", body)).status]).toEqual([name, 404]);
      expect((await anna.call("GET", "/operators")).json.operators[0].sites).toBeNull();
    }
  });

  test("limits the last operator of all sites only with isLast, also if two operators limit each other at the same time", async () => {
    const ben = await server.signIn("ben");
    const limit = (client: ConsoleClient, id: number, body = {}) =>
      client.call("PATCH", `/operators/${id}`, { sites: ["shop"], ...body });
    const both = await Promise.all([limit(anna, 2), limit(ben, 1)]);
    // The operator who was limited first may not limit the other operator.
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
    const [last, own] = both[0]?.status === 200 ? [anna, 1] : [ben, 2];
    expect((await limit(last, own)).status).toBe(409);
    expect((await limit(last, own, { isLast: true })).status).toBe(200);
    expect((await last.call("GET", "/operators")).status).toBe(403);
  });

  test("gives and changes roles, with effect on the next request of present sessions and an entry in the journal", async () => {
    const { json } = await anna.call("POST", "/operators", { name: "ben", sites: null, role: "viewer" });
    expect(json.operator).toMatchObject({ name: "ben", sites: null, role: "viewer" });
    const ben = await server.signIn("ben");
    const create = async () => (await ben.call("POST", "/sites/shop/records/brands", { Name: "Acme" })).status;
    const statuses = [await create(), (await ben.call("GET", "/operators")).status];
    const path = `/operators/${json.operator.id}`;
    for (const role of ["editor", "admin", "viewer"]) {
      expect((await anna.call("PATCH", path, { role })).json.operator).toMatchObject({ sites: null, role });
      expect((await ben.call("GET", "/session")).json.role).toBe(role);
      statuses.push(await create(), (await ben.call("GET", "/operators")).status);
    }
    expect(statuses).toEqual([403, 200, 200, 403, 200, 200, 403, 200]);
    expect((await ben.call("PATCH", path, { role: "admin" })).status).toBe(403);
    expect((await anna.call("PATCH", path, { role: "editor", sites: ["shop"] })).json.operator).toMatchObject({
      sites: ["shop"],
      role: "editor",
    });
    const { entries } = await server.engine.readJournalPage(systemSite, 0, 100);
    const last = entries.findLast(({ resource }) => resource !== "event");
    expect([last?.actor, last?.operation, JSON.parse(last?.body ?? "").Role]).toEqual([
      "console:anna",
      "update",
      "records",
    ]);
  });

  test("limits the role of the last admin only with isLast", async () => {
    await server.signIn("ben", [], "viewer");
    const limit = (body = {}) => anna.call("PATCH", "/operators/1", { role: "editor", ...body });
    const { status, json } = await limit();
    expect([status, json.detail]).toEqual([409, expect.stringContaining("last admin of all sites")]);
    expect((await anna.call("DELETE", "/operators/1", {})).status).toBe(409);
    expect((await limit({ isLast: true })).status).toBe(200);
    expect((await anna.call("GET", "/operators")).status).toBe(403);
  });

  test("removes the last operator of all sites only with isLast", async () => {
    await server.signIn("ben", ["shop"]);
    const { operators } = (await anna.call("GET", "/operators")).json;
    const path = `/operators/${operators.find(({ name }: { name: string }) => name === "anna").id}`;
    const { status, json } = await anna.call("DELETE", path, {});
    expect([status, json.detail]).toEqual([409, expect.stringContaining("last admin of all sites")]);
    expect((await anna.call("DELETE", path, { isLast: true })).status).toBe(200);
    expect((await anna.call("GET", "/sites")).status).toBe(401);
  });
});
