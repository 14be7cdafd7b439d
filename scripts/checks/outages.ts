// Outages, each of which breaks a real server and returns its metrics.

import { Database } from "bun:sqlite";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../src/model/engine.ts";
import { backUp } from "../../src/operator/backup/backup.ts";
import { createKey } from "../../src/operator/sites/keys.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { createWebhook } from "../../src/operator/webhooks/webhook-creation.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { makeCertificate } from "../../test/support/http/certificate.ts";
import { childrenOf } from "../../test/support/programs/children.ts";
import { type ServerProcess, startProcess } from "../../test/support/programs/processes.ts";
import { waitUntil } from "../../test/support/time.ts";

export interface Outage {
  /** One response from `/metrics` per scrape; empty if the server didn't respond. */
  readonly scrapes: readonly string[];
  /** The only alerts that may, and must, fire. */
  readonly firing: readonly string[];
}

const day = 86_400_000;

/** By name. Each gets an empty folder. */
export const outages: Readonly<Record<string, (folder: string) => Promise<Outage>>> = {
  "nothing is wrong": (folder) =>
    withServer(folder, {}, async (server) => ({ scrapes: [await scrape(server)], firing: [] })),

  "the server isn't running": (folder) =>
    withServer(folder, {}, async (server) => {
      const before = await scrape(server);
      await server.end("SIGKILL");
      return { scrapes: [before, await scrape(server)], firing: ["StorefrontDown"] };
    }),

  "the database files were moved away, and there are no requests": (folder) =>
    withServer(folder, {}, async (server) => {
      for (const suffix of ["", "-wal", "-shm"])
        renameSync(join(folder, `test.db${suffix}`), join(folder, `away${suffix}`));
      await Bun.sleep(1500);
      return { scrapes: [await scrape(server)], firing: ["StorefrontNotReady"] };
    }),

  "both workers are stopped": (folder) =>
    withServer(folder, { WORKERS: "2" }, async (server) => {
      const workers = childrenOf(server.pid).slice(0, 2);
      for (const pid of workers) process.kill(pid, "SIGSTOP");
      const scrapes = [await scrape(server)];
      for (const pid of workers) process.kill(pid, "SIGKILL");
      return { scrapes, firing: ["StorefrontNotReady", "StorefrontWorkersMissing"] };
    }),

  "a worker keeps crashing": (folder) =>
    withServer(folder, { WORKERS: "2" }, async (server) => {
      const scrapes = [await scrape(server)];
      for (let ended = 1; ended <= 3; ended++) {
        process.kill(childrenOf(server.pid)[0] as number, "SIGKILL");
        await waitUntil(() => server.log().split("starting another").length > scrapes.length, "another worker");
        await waitUntil(async () => (await scrape(server)).includes("\nstorefront_workers 2\n"), "both workers");
        scrapes.push(await scrape(server));
      }
      // The rule covers the last 15 minutes and is evaluated after two hours, so add quiet scrapes before these.
      const quiet = Array.from({ length: 90 }, () => scrapes[0] as string);
      return { scrapes: [...quiet, ...scrapes], firing: ["StorefrontRestarting"] };
    }),

  "the certificate expires in a day": (folder) => {
    const { cert, key } = makeCertificate();
    writeFileSync(join(folder, "cert.pem"), cert);
    writeFileSync(join(folder, "key.pem"), key);
    const settings = { TLS_CERT: join(folder, "cert.pem"), TLS_KEY: join(folder, "key.pem") };
    return withServer(folder, settings, async (server) => ({
      scrapes: [await scrape(server)],
      firing: ["StorefrontCertificateExpires"],
    }));
  },

  "a record was changed by hand in the database": (folder) =>
    withServer(folder, {}, async (server, engine) => {
      const site = await createSite(engine, "shop", { isDefault: true }, Date.now());
      const { key } = await createKey(engine, site, {}, Date.now());
      await call(server, key, "POST");
      await call(server, key, "GET");
      const before = await scrape(server);
      using database = new Database(join(folder, "test.db"));
      database.run(`update records set body = replace(body, 'Acme', 'Other') where site_id = ${site.ID}`);
      const isFound = async () => /^storefront_verify_differences_total 1$/m.test(await scrape(server));
      await waitUntil(isFound, "the difference", { output: server.log, withinMs: 120_000 });
      // The rule covers the last hour and is evaluated after 100 minutes, so add scrapes before this one.
      const quiet = Array.from({ length: 60 }, () => before);
      return { scrapes: [...quiet, await scrape(server)], firing: ["StorefrontMemoryDiffers"] };
    }),

  "a day without a backup, after one made while the clock was a year ahead": (folder) =>
    backedUp(folder, [Date.now() + 365 * day], ["StorefrontBackupOld"]),

  "a backup after one made while the clock was a year ahead": (folder) =>
    backedUp(folder, [Date.now() + 365 * day, Date.now()], []),

  "two days without a backup, but another server has one": async (folder) => {
    const { scrapes } = await backedUp(folder, [Date.now() - 2 * day], []);
    const other = await withServer(join(folder, "other"), {}, async (server) => [await scrape(server)]);
    const series = /^storefront_last_backup_timestamp_seconds.*$/m.exec(other[0] as string)?.[0];
    return { scrapes: [`${scrapes[0]}${series}\n`], firing: ["StorefrontBackupOld"] };
  },

  "a receiver responds with a 410": async (folder) => {
    const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("", { status: 410 }) });
    try {
      return await withServer(folder, {}, async (server, engine) => {
        const site = await createSite(engine, "shop", { isDefault: true }, Date.now());
        const policy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };
        await createWebhook(engine, site, { url: receiver.url.href, resources: [], since: "now" }, policy, Date.now());
        const { key } = await createKey(engine, site, {}, Date.now());
        await call(server, key, "POST");
        const lag = /^storefront_webhook_lag_changes\{webhook="1"\} 1$/m;
        const isShown = (text: string) => text.includes("\nstorefront_webhooks_given_up 1\n") && lag.test(text);
        await waitUntil(async () => isShown(await scrape(server)), "the webhook to give up", { output: server.log });
        return { scrapes: [await scrape(server)], firing: ["StorefrontWebhookGaveUp"] };
      });
    } finally {
      receiver.stop(true);
    }
  },
};

/** Creates a brand, or reads all brands. */
async function call({ url }: ServerProcess, key: string, method: "POST" | "GET"): Promise<void> {
  const body = method === "POST" ? { body: '{"Name":"Acme"}' } : {};
  await (await fetch(`${url}/restapi/brands.json`, { method, headers: { "X-API-AUTH": key }, ...body })).text();
}

/** Runs a server whose database was backed up at these times, in milliseconds since 1970. */
function backedUp(folder: string, times: readonly number[], firing: readonly string[]): Promise<Outage> {
  return withServer(folder, {}, async (server) => ({ scrapes: [await scrape(server)], firing }), times);
}

/** Runs a server on a new database for `work`, then kills it. @param backups times of backups before its start */
async function withServer<T>(
  folder: string,
  settings: Record<string, string>,
  work: (server: ServerProcess, engine: Engine) => Promise<T>,
  backups: readonly number[] = [Date.now()],
): Promise<T> {
  const database = `sqlite:${join(folder, "test.db")}`;
  const engine = await openEngine(database, allResources);
  for (const [index, at] of backups.entries()) await backUp(engine, join(folder, `${index}.backup`), at);
  const server = await startProcess({ DATABASE: database, ADMIN: "127.0.0.1:0", ...settings });
  try {
    // Each process reads the last backup's time after its first scrape, and shows it from the next one on.
    await waitUntil(async () => (await scrape(server)).includes("storefront_last_backup"), "the last backup", {
      output: server.log,
    });
    return await work(server, engine);
  } finally {
    await engine.close().catch(() => {});
    await server.end("SIGKILL");
  }
}

/** Reads `/metrics`. Returns an empty string if the server doesn't respond. */
async function scrape({ adminUrl }: ServerProcess): Promise<string> {
  try {
    return await (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(10_000) })).text();
  } catch {
    return "";
  }
}
