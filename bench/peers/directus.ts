import { join } from "node:path";
import { freePort, startServerAt, tracked } from "../process.ts";
import { sampleBrand } from "../scenarios.ts";
import { type Api, type Operation, type Peer, perform, toBrand, toRequest } from "./peer.ts";

const version = "12.4.0";
const token = "a-static-token-of-forty-characters-or-so";
const headers = { Authorization: `Bearer ${token}` };

export const directus: Peer = {
  name: `Directus ${version}`,
  packages: { directus: version, sqlite3: "6.0.1" },
  // The version that Directus asks for can't be compiled for Node 24.
  overrides: { "isolated-vm": "6.1.2" },
  builds: ["sqlite3", "isolated-vm", "argon2"],
  note: "A collection with the fields of a brand; `Telephone` and `Address` are JSON. Static token. Directus opens SQLite with a rollback journal and synchronous=full. Each write also stores an activity and a revision. Logs warnings only.",
  async start({ folder, env, brands }) {
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    const settings = { ...env, ...settingsFor(folder, port) };
    await bootstrap(folder, settings);
    const place = { url, cwd: folder, env: settings, log: join(folder, "log") };
    const server = await startServerAt(directus.name, ["node_modules/.bin/directus", "start"], place);
    await perform(server, post("/collections", collection));
    const rows = brands.map(({ ID, ...brand }) => ({ id: ID, ...brand }));
    await perform(server, post("/items/brands", rows));
    return { server, api };
  },
};

function settingsFor(folder: string, port: number): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    DB_CLIENT: "sqlite3",
    DB_FILENAME: join(folder, "directus.db"),
    SECRET: "a-secret-of-at-least-32-characters-for-sessions",
    ADMIN_EMAIL: "bench@example.com",
    ADMIN_PASSWORD: "bench-bench",
    ADMIN_TOKEN: token,
    LOG_LEVEL: "warn",
    TELEMETRY: "false",
  };
}

/** Creates the database and an administrator with the token. */
async function bootstrap(cwd: string, env: Record<string, string>): Promise<void> {
  const log = Bun.file(join(cwd, "bootstrap.log"));
  const cmd = ["node_modules/.bin/directus", "bootstrap"];
  const child = tracked(Bun.spawn(cmd, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", log, log] }));
  if ((await child.exited) !== 0) throw new Error(`directus bootstrap: ${(await log.text()).slice(-500)}`);
}

const text = (field: string) => ({ field, type: "string", schema: {} });
const json = (field: string) => ({ field, type: "json", schema: {}, meta: { special: ["cast-json"] } });
const id = { field: "id", type: "integer", schema: { is_primary_key: true, has_auto_increment: true } };
const collection = {
  collection: "brands",
  schema: {},
  meta: {},
  fields: [id, text("Name"), text("AccountNumber"), json("Telephone"), json("Address")],
};

function post(path: string, body: unknown): Operation<unknown> {
  return { request: toRequest("POST", path, headers, body), read: (response) => response };
}

const api: Api = {
  lookUp: (ID) => ({
    request: toRequest("GET", `/items/brands/${ID}`, headers),
    read: ({ data }) => toBrand(data),
  }),
  list: { request: toRequest("GET", "/items/brands?limit=-1", headers), read: ({ data }) => data.map(toBrand) },
  create: { request: toRequest("POST", "/items/brands", headers, sampleBrand(0)), read: ({ data }) => data.id },
  update: {
    request: toRequest("PATCH", "/items/brands/7", headers, { Name: "Changed [<id>]" }),
    read: ({ data }) => toBrand(data),
  },
};
