import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, startServerAt } from "../process.ts";
import { sampleBrand } from "../scenarios.ts";
import { type Api, type Peer, toBrand, toRequest } from "./peer.ts";

const version = "0.17.4";

export const jsonServer: Peer = {
  name: `json-server ${version}`,
  packages: { "json-server": version },
  note: "The brands are in a JSON file. Each write rewrites the file without waiting for the disk. No key, no validation; started with `--quiet`.",
  async start({ folder, env, brands }) {
    writeFileSync(join(folder, "db.json"), JSON.stringify({ brands }));
    const port = freePort();
    const address = ["--host", "127.0.0.1", "--port", String(port)];
    const cmd = ["node_modules/.bin/json-server", "--quiet", "--id", "ID", ...address, "db.json"];
    const place = { url: `http://127.0.0.1:${port}`, cwd: folder, env, log: join(folder, "log") };
    return { server: await startServerAt(jsonServer.name, cmd, place), api };
  },
};

const api: Api = {
  lookUp: (id) => ({ request: toRequest("GET", `/brands/${id}`, {}), read: toBrand }),
  list: { request: toRequest("GET", "/brands", {}), read: (brands) => brands.map(toBrand) },
  create: { request: toRequest("POST", "/brands", {}, sampleBrand(0)), read: ({ ID }) => ID },
  update: { request: toRequest("PATCH", "/brands/7", {}, { Name: "Changed [<id>]" }), read: toBrand },
};
