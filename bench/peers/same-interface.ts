// The servers that implement our interface: this one, and small ones written by hand on two frameworks.

import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { devDependencies } from "../../package.json" with { type: "json" };
import { startServer } from "../process.ts";
import { sampleBrand } from "../scenarios.ts";
import { makeSite, startStorefront } from "../site.ts";
import { type Api, type Peer, type Running, type Setup, toBrand, toRequest } from "./peer.ts";

const servers = join(import.meta.dir, "../servers");
const key = "a-key-of-forty-characters-or-thereabouts";
const versions = { fastify: "5.12.8", elysia: "1.4.30" };

/** This server, which each peer is compared with. */
export const storefront: Peer = {
  name: "storefront",
  packages: {},
  note: "SQLite in WAL mode, synchronous=full, a journal entry per write.",
  async start({ folder, brands }) {
    const site = await makeSite(folder, brands.length);
    return { server: await startStorefront(site), api: apiFor(site.key) };
  },
};

export const fastify: Peer = {
  name: `Fastify ${versions.fastify} + node:sqlite by hand`,
  packages: { fastify: versions.fastify },
  note: "`bench/servers/fastify-sqlite.mjs` has schemas for request and response bodies. It looks up the key's digest for each request, commits each write by itself and keeps no journal.",
  start: (setup) => startCopy("node", "fastify-sqlite.mjs", fastify.name, setup),
};

export const elysia: Peer = {
  name: `Elysia ${versions.elysia} + bun:sqlite by hand`,
  packages: { elysia: versions.elysia },
  note: "`bench/servers/elysia-sqlite.mjs` does the same as the Fastify one, on Bun and with a schema only for creates.",
  start: (setup) => startCopy(process.execPath, "elysia-sqlite.mjs", elysia.name, setup),
};

export const hono: Peer = {
  name: `Hono ${devDependencies.hono} + bun:sqlite by hand`,
  packages: {},
  note: "`bench/servers/hono-sqlite.ts` does the same as the Fastify one, on Bun and without schemas.",
  async start(setup) {
    const cmd = [process.execPath, join(servers, "hono-sqlite.ts")];
    return { server: await startServer(hono.name, cmd, settings(setup)), api: apiFor(key) };
  },
};

/** Starts a server in the folder that has its packages. */
async function startCopy(runtime: string, name: string, server: string, setup: Setup): Promise<Running> {
  for (const file of [name, "brands.ts"]) cpSync(join(servers, file), join(setup.folder, file));
  const cmd = [runtime, join(setup.folder, name)];
  return { server: await startServer(server, cmd, settings(setup)), api: apiFor(key) };
}

function settings({ folder, env, brands }: Setup): Record<string, string> {
  const seed = join(folder, "seed.json");
  writeFileSync(seed, JSON.stringify(brands));
  return { ...env, FILE: join(folder, "brands.db"), KEY: key, SEED: seed };
}

function apiFor(key: string): Api {
  const headers = { "X-API-AUTH": key };
  const list = "/restapi/brands.json";
  return {
    lookUp: (id) => ({ request: toRequest("GET", `/restapi/brands/${id}.json`, headers), read: toBrand }),
    list: { request: toRequest("GET", list, headers), read: (brands) => brands.map(toBrand) },
    create: { request: toRequest("POST", list, headers, sampleBrand(0)), read: ({ ID }) => ID },
    update: { request: toRequest("PUT", list, headers, { ID: 7, Name: "Changed [<id>]" }), read: toBrand },
  };
}
