// Starting and stopping a server. slow/command-line/serve.test.ts tests options, signals and workers.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { fetchWithKey, openWorkspace, type Workspace } from "../support/programs/command.ts";

let workspace: Workspace;
beforeEach(() => {
  workspace = openWorkspace();
});
afterEach(() => workspace.close());

test("serve prints its address once it listens, picks a free port, and exits with 0", async () => {
  const server = await workspace.serve();
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  expect(server.stdout()).toMatch(/^Storefront is listening on \S+\nCreated the database .*\nServing 0 sites; .*\n$/);
  expect(server.stderr()).toBe("");
});

test("serve prints JSON with --json", async () => {
  const started = workspace.start(["serve", "--port", "0", "--demo", "--json"]);
  await started.until(/\n}\n/);
  const { url, key } = JSON.parse(started.stdout());
  expect((await fetchWithKey(`${url}/restapi/brands.json`, key)).status).toBe(200);
});
