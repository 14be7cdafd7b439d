// The rights to each action of the API: every action is tried by everyone who may not use it.

import { afterAll, describe, expect, test } from "bun:test";
import { allActions } from "../../../src/admin/api/all.ts";
import { OpenImports } from "../../../src/admin/open-imports.ts";
import { TrafficHistory } from "../../../src/admin/traffic.ts";
import { type Right, rightsOf, roles } from "../../../src/model/operator-role.ts";
import { systemSite } from "../../../src/model/system-site.ts";
import { listOperators, setOperator } from "../../../src/operator/operators/operators.ts";
import { createSite, listSites, setSite } from "../../../src/operator/sites/sites.ts";
import { operator as operatorResource } from "../../../src/resources/operator.ts";
import { commitSystemChanges, toUpdateIntent } from "../../../src/system/system-changes.ts";
import { startTestConsole } from "../../support/console/server.ts";
import { exchangeOnce } from "../../support/wire/client.ts";

const traffic = new TrafficHistory(async () => [], Date.now);
traffic.stop();
const imports = new OpenImports(Date.now, () => {});
const actions = allActions(traffic, imports, new AbortController().signal).map(([method, path, needs, , onlyFor]) => ({
  method,
  needs,
  onlyFor,
  hasSite: path.includes("{site}"),
  name: `${method} ${path}`,
  /** The path of the action for a site that is not the operator's. */
  path: path
    .replace("/operator", "")
    .replace("{site}", "toys")
    .replace("{resource}", "brands")
    .replace(/\{[a-z]+\}/gi, "1"),
}));

/** Actions without a site, which every operator may use, and their queries. */
const actionsWithoutSite: Readonly<Record<string, string>> = {
  "GET /operator/resources": "",
  "GET /operator/sites": "",
  "GET /operator/find": "?text=Acme",
  "GET /operator/audit-log": "?limit=200",
  "GET /operator/audit-log/export": "",
};

const server = await startTestConsole();
await createSite(server.engine, "toys", { hostnames: ["toys.example"] }, Date.now());
const [anna, ben] = [await server.signIn("anna"), await server.signIn("ben", ["shop"])];
await anna.call("POST", "/sites/toys/records/brands", { Name: "Acme" });
await anna.call("POST", "/sites/toys/sandbox", {});
afterAll(() => server.stop());

const bodyOf = (method: string) => (method === "GET" ? undefined : {});

describe("a client without a session", () => {
  test.each(actions)("cannot use $name", async ({ method, path }) => {
    const response = await fetch(`${server.adminUrl}/operator${path}`, {
      method,
      headers: { Origin: server.adminUrl, "Content-Type": "application/json" },
      ...(method === "GET" ? {} : { body: "{}" }),
    });
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain("toys");
  });
});

describe("an operator of one site", () => {
  test.each(
    actions.filter(({ hasSite, onlyFor }) => hasSite && !onlyFor),
  )("does not find another site with $name", async ({ method, path }) => {
    const { status, json } = await ben.call(method, path, bodyOf(method));
    expect([status, json.detail]).toEqual([404, "unknown site `toys`"]);
  });

  test("does not find the sandbox of another site, by any action", async () => {
    for (const { method, path, name } of actions.filter(({ hasSite, onlyFor }) => hasSite && !onlyFor)) {
      const { status, json } = await ben.call(method, path.replace("toys", "toys-sandbox"), bodyOf(method));
      expect([name, status, json.detail]).toEqual([name, 404, "unknown site `toys-sandbox`"]);
    }
  });

  test.each(actions.filter(({ onlyFor }) => onlyFor !== undefined))("may not use $name", async ({ method, path }) => {
    const { status } = await ben.call(method, path, bodyOf(method));
    expect(status).toBe(403);
  });

  const others = actions.filter(({ hasSite, onlyFor }) => !hasSite && !onlyFor);
  test.each(others)("gets no data of another site with $name", async ({ method, path, name }) => {
    const query = actionsWithoutSite[name];
    expect([name, query !== undefined]).toEqual([name, true]);
    const { status, text } = await ben.call(method, path + query, bodyOf(method));
    expect(status).toBe(200);
    expect(text).not.toContain("toys");
  });

  test("has changed nothing by these attempts", async () => {
    const names = (await listSites(server.engine)).map(({ Name }) => Name);
    expect(names).toEqual(["shop", "toys", "toys-sandbox"]);
    for (const site of names.slice(1)) {
      const { json } = await anna.call("GET", `/sites/${site}/records/brands`);
      expect(json.records.map(({ record }: { record: { Name: string } }) => record.Name)).toEqual(["Acme"]);
    }
  });
});

/** Returns the right that an action should need, by its name. Every change concerns settings or records. */
function neededBy(name: string): Right {
  const isSetting = /\/(?:keys|webhooks|operators|audit-log)(?:\/|$)/.test(name);
  if (name.startsWith("GET ")) return isSetting ? "read-settings" : "read";
  return isSetting || /\/sites(?:\/\{site\}(?:\/sandbox)?)?$/.test(name) ? "settings" : "records";
}

describe("a role", () => {
  const futureRole = "of-the-future";
  const rights: Readonly<Record<string, readonly Right[]>> = {
    editor: ["read", "records"],
    viewer: ["read", "read-settings"],
    [futureRole]: ["read"],
  };

  test("is needed by every action, and only an admin has every right", () => {
    expect(actions.map(({ name, needs }) => [name, needs])).toEqual(actions.map(({ name }) => [name, neededBy(name)]));
    expect(actions.filter(({ needs }) => !rightsOf("admin").includes(needs))).toEqual([]);
  });

  test.each(Object.keys(rights))("%s may do what it is for in all sites, and nothing else", async (role) => {
    const allowed = rights[role] ?? [];
    const client = await server.signIn(`the-${role}`);
    await setStoredRole(`the-${role}`, role);
    const session = (await client.call("GET", "/session")).json;
    expect([session.role, session.rights]).toEqual([role === futureRole ? "unknown" : role, allowed]);
    const before = await server.engine.readHeads([systemSite, 1, 2]);
    for (const { method, path, name, needs } of actions) {
      // These would change something.
      if (needs === "records" && allowed.includes(needs)) continue;
      const { status, json } = await client.call(method, path + (actionsWithoutSite[name] ?? ""), bodyOf(method));
      const isRefused = status === 403 && json.detail.startsWith("your role doesn't let you");
      expect([name, isRefused]).toEqual([name, !allowed.includes(needs)]);
    }
    expect(await server.engine.readHeads([1, 2])).toEqual(before.slice(1));
    const { entries } = await server.engine.readJournalPage(systemSite, before[0]?.revision ?? 0, 1000);
    expect(new Set(entries.map(({ resource }) => resource))).toEqual(new Set(["event"]));
    const created = await client.call("POST", "/sites/toys/records/brands", { Name: "Bloom" });
    expect(created.status).toBe(allowed.includes("records") ? 200 : 403);
  });

  /** Stores a role as another program version could. */
  async function setStoredRole(name: string, role: string): Promise<void> {
    const known = roles.find((one) => one === role);
    if (known) return void (await setOperator(server.engine, name, { role: known }, Date.now()));
    const { ID } = (await listOperators(server.engine)).find(({ Name }) => Name === name) as { ID: number };
    await commitSystemChanges(server.engine, () => [toUpdateIntent(operatorResource, ID, { Role: role }, Date.now())]);
  }
});

test("a method that is named like a member of every object is rejected like any unknown method", async () => {
  const { host, port } = new URL(server.adminUrl);
  for (const method of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    const lines = [`${method} /operator/sites HTTP/1.1`, `Host: ${host}`, `Origin: ${server.adminUrl}`];
    const [response] = await exchangeOnce(Number(port), `${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`);
    expect([method, response?.status]).toEqual([method, 501]);
  }
});

test("an operator of one site gets no data of other sites if the site is renamed during a request", async () => {
  await createSite(server.engine, "games", {}, Date.now());
  const carl = await server.signIn("carl", ["games"]);
  const { readHeads } = server.engine;
  const requests: [string, string, object?][] = [
    ["GET", ""],
    ["GET", "/overview"],
    ["GET", "/keys"],
    ["PATCH", "", { isSuspended: false }],
  ];
  const seen: string[] = [];
  for (const [method, path, body] of requests) {
    for (let call = 1; call <= 6; call++) {
      let calls = 0;
      const renaming: typeof readHeads = async (sites) => {
        if (++calls === call) await setSite({ ...server.engine, readHeads }, "games", { name: "plays" }, Date.now());
        return readHeads(sites);
      };
      Object.assign(server.engine, { readHeads: renaming });
      seen.push((await carl.call(method, `/sites/games${path}`, body)).text);
      Object.assign(server.engine, { readHeads });
      await setSite(server.engine, "plays", { name: "games" }, Date.now()).catch(() => {});
    }
  }
  expect(seen.filter((text) => /toys|shop/.test(text))).toEqual([]);
  expect(seen.some((text) => text.includes("unknown site"))).toBe(true);
});
