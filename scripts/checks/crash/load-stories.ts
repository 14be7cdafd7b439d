// Scenarios with servers: one is killed while clients write, one starts for the first time on an empty disk, and one has a sync that fails.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, NoResponseError, request } from "./client.ts";
import { Expected } from "./expected.ts";
import type { Lab, RunningServer } from "./lab.ts";
import { csvOf, namesOf, noSite, prepareSite, readNames, type Story, type Verify } from "./story.ts";

const clientCount = 4;

/** Checks all clients' records. */
function verifyClients(clients: readonly Client[]): Verify {
  return async ({ engine, position }) => {
    const names = await readNames(engine);
    return clients.flatMap((client) => client.expected.check(client.own(names), position));
  };
}

async function untilKilled(work: Promise<void>): Promise<void> {
  await work.catch((error) => {
    if (!(error instanceof NoResponseError)) throw error;
  });
}

function loadStory(): Story {
  let key = "";
  const clients: Client[] = [];
  return {
    name: "load",
    database: "shop.db",
    prepare: async (lab) => {
      key = await prepareSite(lab);
    },
    async run(lab) {
      const addClients = (prefix: string) => {
        const added = Array.from({ length: clientCount }, (_, n) => new Client(lab, key, `${prefix}${n}`));
        clients.push(...added);
        return added;
      };
      let server = await lab.serve();
      const killed = addClients("first");
      const writing = Promise.all(killed.map((client) => untilKilled(client.write(server.url, 50))));
      while (killed.some(({ idempotent }) => idempotent.length < 6)) await Bun.sleep(5);
      await server.end("SIGKILL");
      await writing;
      server = await lab.serve();
      await Promise.all(addClients("second").map((client) => client.write(server.url, 4)));
      await server.end("SIGTERM");
      const failures = clients.flatMap((client) => client.failures).filter((text) => /^[1-9]/.test(text));
      if (failures.length > 0) throw new Error(`requests failed: ${failures[0]}`);
      return verifyClients(clients);
    },
    async tryProgram(lab, position) {
      const server = await lab.serve();
      const faults = await resend(server, key, clients, position);
      await server.end("SIGTERM");
      const names = await lab.open((engine) => readNames(engine));
      const repeated = names.filter((name, n) => names.indexOf(name) !== n);
      return [...faults, ...repeated.map((name) => `there are two of ${name} after its create was sent again`)];
    },
  };
}

/** Sends the idempotent creates again, as clients do when they get no response. */
async function resend(server: RunningServer, key: string, clients: readonly Client[], position: number) {
  const faults: string[] = [];
  for (const { name, idempotencyKey, sent } of clients.flatMap(({ idempotent }) => idempotent)) {
    if (sent > position) continue;
    const response = await request(server.url, key, "POST", "brands.json", { Name: name }, idempotencyKey);
    if (response.status !== 201) faults.push(`${name}: when sent again, it got a ${response.status}`);
  }
  return faults;
}

const firstStart: Story = {
  name: "first-start",
  database: "new/data/shop.db",
  async run(lab) {
    const site = new Expected("the site", noSite);
    const added = await lab.succeed("site", "add", "main", "--default");
    site.add({ sent: added.sent, acknowledged: added.at, change: () => [] });
    const made = await lab.succeed("key", "create", "--site", "main");
    const key = made.stdout.trim();
    const server = await lab.serve();
    const client = new Client(lab, key, "first");
    await client.write(server.url, 2);
    await server.end("SIGTERM");
    return async ({ engine, position }) => {
      const names = await readNames(engine);
      const found = names === noSite ? noSite : [];
      return [...site.check(found, position), ...client.expected.check(client.own(names), position)];
    };
  },
};

/** `failed` is how many rows the failing commit has (1 is a request, more is an import), `after` how many requests follow. */
const failingSyncs = [1, 400].flatMap((failed) =>
  [1, 50].flatMap((after) => [false, true].map((isKilled) => ({ failed, after, isKilled }))),
);

/** A commit's sync fails once. Later syncs succeed, but don't include the writes before it, as on Linux. */
function failingSyncStory({ failed, after, isKilled }: (typeof failingSyncs)[number]): Story {
  let key = "";
  return {
    name: `failing-sync of ${failed}, then ${after}${isKilled ? " after a kill" : ""}`,
    database: "shop.db",
    prepare: async (lab) => {
      key = await prepareSite(lab);
    },
    async run(lab) {
      let server = await lab.serve();
      const clients = [new Client(lab, key, "before"), new Client(lab, key, "failed"), new Client(lab, key, "after")];
      const [before, failing, later] = clients as [Client, Client, Client];
      for (const name of namesOf("before", 5)) await before.create(server.url, name);
      lab.failNextSync();
      if (failed === 1) await failing.create(server.url, "failed 0");
      else await failImport(lab, failing, failed);
      if (lab.isSyncStillToFail) throw new Error("no sync failed");
      if (isKilled) {
        await server.end("SIGKILL");
        server = await lab.serve();
      }
      for (const name of namesOf("after", after)) await later.create(server.url, name);
      await server.end("SIGKILL");
      const refused = [...before.failures, ...later.failures];
      if (refused.length > 0) throw new Error(`a request failed although the disk was working: ${refused[0]}`);
      return verifyClients(clients);
    },
  };
}

async function failImport(lab: Lab, client: Client, rows: number): Promise<void> {
  const names = namesOf("failed", rows).map((name) => `${name} ${"x".repeat(200)}`);
  const file = join(lab.folder, "..", "failed.csv");
  writeFileSync(file, csvOf(names));
  const result = await lab.run("import", "--site", "main", "brands", file);
  if (result.status === 0) throw new Error("the import reported success although its sync failed");
  client.expected.add({ sent: result.sent, acknowledged: undefined, change: () => names });
}

export const loadStories: readonly (() => Story)[] = [
  loadStory,
  () => firstStart,
  ...failingSyncs.map((one) => () => failingSyncStory(one)),
];
