// Unknown settings are rejected, and a server prints enough about its database to notice that it's the wrong one.

import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engine/engines.ts";
import { openWorkspace, useWorkspace, type Workspace } from "../../support/programs/command.ts";

describe("an unknown setting in the environment", () => {
  const cases: [variable: string, hint: string][] = [
    ["STOREFRONT_DATABSE", "did you mean STOREFRONT_DATABASE?"],
    ["STOREFRONT_DB_DATABASE", "did you mean STOREFRONT_DATABASE?"],
    ["STOREFRONT_ADMIN_HOSTS", "did you mean STOREFRONT_ADMIN_HOST?"],
    ["STOREFRONT_workers", "did you mean STOREFRONT_WORKERS?"],
    ["STOREFRONT_SERVICE_NAME", "see `serve --help`"],
    ["STOREFRONT_", "see `serve --help`"],
  ];

  test.each(cases)("%s is rejected by servers and commands, with the most similar setting", async (variable, hint) => {
    const workspace = openWorkspace();
    const rejected = { code: 2, stdout: "", stderr: `storefront: unknown setting ${variable}: ${hint}\n` };
    for (const args of [["serve", "--port", "0"], ["site", "add", "main"], ["health"]])
      expect(await workspace.run(args, { env: { [variable]: "8081" }, asProcess: false })).toEqual(rejected);
    await workspace.close();
  });

  test("is ignored if Kubernetes or a Docker link sets it for a service whose name starts with storefront", async () => {
    const workspace = openWorkspace();
    const env = {
      STOREFRONT_SERVICE_HOST: "10.0.0.1",
      STOREFRONT_SERVICE_PORT: "8080",
      STOREFRONT_SERVICE_PORT_HTTP: "8080",
      STOREFRONT_PORT: "tcp://10.0.0.1:8080",
      STOREFRONT_PORT_8080_TCP: "tcp://10.0.0.1:8080",
      STOREFRONT_PORT_8080_TCP_ADDR: "10.0.0.1",
      STOREFRONT_PORT_8080_TCP_PORT: "8080",
      STOREFRONT_PORT_8080_TCP_PROTO: "tcp",
      STOREFRONT_ADMIN_SERVICE_HOST: "10.0.0.2",
      STOREFRONT_ADMIN_PORT: "tcp://10.0.0.2:8081",
      STOREFRONT_ADMIN_PORT_8081_UDP_ADDR: "10.0.0.2",
      STOREFRONT_DATABASE_PORT_5432_TCP: "tcp://10.0.0.3:5432",
      STOREFRONT_NAME: "/web/storefront",
      STOREFRONT_ENV_PGDATA: "/data",
      STOREFRONT_DATABASE_ENV_POSTGRES_PASSWORD: "x",
    };
    expect(await workspace.run(["site", "add", "main"], { env })).toMatchObject({ code: 0 });
    await workspace.close();
  });
});

describe.each(engines)("serve on $name", (kind) => {
  let workspace: Workspace;
  useWorkspace({ ...kind, newDatabase: kind.newEmptyDatabase }, (opened) => {
    workspace = opened;
  });

  /** Starts a server, stops it, and returns what it printed about the database. */
  async function started(args: readonly string[]): Promise<string> {
    const server = workspace.start(["serve", "--port", "0", "--log", "silent", ...args], { stdin: "" });
    await server.until(/Serving .*\n/);
    server.kill();
    expect(await server.exited).toBe(0);
    return server.stdout().replace(/^Storefront is listening on \S+\n/, "");
  }

  test.each(
    kind === engines[0] ? [1, 2] : [1],
  )("with %i workers says when it creates the database, and at each start how many sites it serves", async (workers) => {
    const args = ["--workers", `${workers}`];
    const noSites = /^Serving 0 sites; create one with `.* site add shop --default`\n$/;
    const first = await started(args);
    expect(first).toStartWith(`Created the database ${workspace.database.replace(/:[^:@/]+@/, ":...@")}\n`);
    expect(first.split("\n").slice(1).join("\n")).toMatch(noSites);
    expect(await started(args)).toMatch(noSites);
    await workspace.data.addSite("garden", { isSuspended: true });
    await workspace.data.addSite("toys");
    expect(await started(args)).toBe("Serving 1 site\n");
  });

  test("prints the same with --demo in JSON", async () => {
    const server = workspace.start(["serve", "--port", "0", "--log", "silent", "--demo", "--json"], { stdin: "" });
    await server.until(/\n}\n/);
    const { created, sites } = JSON.parse(server.stdout());
    expect({ created, sites }).toEqual({ created: workspace.database.replace(/:[^:@/]+@/, ":...@"), sites: 1 });
  });
});
