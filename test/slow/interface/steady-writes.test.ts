// Followers of a site under constant writes get every change once, in order.

import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { type TestServer, useServer } from "../../support/http/server.ts";

const writes = 300;

describe.each(engines)("constant writes on $name", (kind) => {
  let server: TestServer;

  useServer(kind, (started) => {
    server = started;
  });

  /** Follows the site until `last` was created. Returns the names of all changed records. */
  async function follow(parameters: string, last: string): Promise<string[]> {
    const names: string[] = [];
    for (let since = "start"; names.at(-1) !== last; ) {
      const url = `${server.url}/restapi/changes.json?${parameters}${since === "start" ? "" : `&since=${since}`}`;
      const response = await fetch(url, { headers: { "X-API-AUTH": server.key, Host: "x" } });
      const { Changes, Next } = (await response.json()) as { Changes: { Record: { Name: string } }[]; Next: string };
      names.push(...Changes.map(({ Record }) => Record.Name));
      since = Next;
    }
    return names;
  }

  test("followers with and without a limit and a short wait get every change once, in order", async () => {
    const names = Array.from({ length: writes }, (_, index) => `brand ${index}`);
    const parameters = ["wait=20", "wait=20&limit=7", "wait=1", "wait=20&limit=50&resource=brands", "limit=20"];
    const last = names.at(-1) as string;
    const following = Array.from({ length: 40 }, (_, index) => follow(parameters[index % 5] as string, last));
    for (const Name of names) await server.engine.commit([createIntent({ site: server.site.ID, values: { Name } })]);
    for (const received of await Promise.all(following)) expect(received).toEqual(names);
  });
});
