// Peers: small servers written by hand, on three frameworks.

import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startServer } from "../process.ts";
import { apiFor } from "./interface.ts";
import type { Peer, Setup } from "./peer.ts";

const servers = join(import.meta.dir, "../servers");
const key = "a-key-of-forty-characters-or-thereabouts";
const versions = { fastify: "5.12.8", express: "5.3.0" };
const sqlite = { "better-sqlite3": "13.2.0" };

export const fastify: Peer = {
  name: `Fastify ${versions.fastify} + better-sqlite3 by hand`,
  packages: { fastify: versions.fastify, ...sqlite },
  builds: Object.keys(sqlite),
  note: "`bench/servers/fastify-sqlite.mjs` has schemas for request and response bodies. It looks up the key's digest for each request, commits each write by itself and keeps no journal.",
  start: (setup) => startOnNode(fastify, "fastify-sqlite.mjs", setup),
};

export const express: Peer = {
  name: `Express ${versions.express} + better-sqlite3 by hand`,
  packages: { express: versions.express, ...sqlite },
  builds: Object.keys(sqlite),
  note: "`bench/servers/express-sqlite.mjs` does the same as the one with Fastify, without schemas.",
  start: (setup) => startOnNode(express, "express-sqlite.mjs", setup),
};

export const hono: Peer = {
  name: "Hono + bun:sqlite by hand",
  packages: {},
  note: "`bench/servers/hono-sqlite.ts` does the same as the one with Express, on Bun.",
  async start(setup) {
    const cmd = [process.execPath, join(servers, "hono-sqlite.ts")];
    return { server: await startServer(hono.name, cmd, settings(setup)), api: apiFor(key) };
  },
};

/** Starts a server on Node. Copies its files into the folder that has the packages that they import. */
async function startOnNode(peer: Peer, file: string, setup: Setup) {
  for (const name of [file, "sqlite-brands.mjs"]) cpSync(join(servers, name), join(setup.folder, name));
  const cmd = ["node", join(setup.folder, file)];
  return { server: await startServer(peer.name, cmd, settings(setup)), api: apiFor(key) };
}

function settings({ folder, env, brands }: Setup): Record<string, string> {
  const seed = join(folder, "seed.json");
  writeFileSync(seed, JSON.stringify(brands));
  return { ...env, FILE: join(folder, "brands.db"), KEY: key, SEED: seed };
}
