// `npm run bench -- --memory` measures how much memory the server and its sockets use while many clients request a lot at once.

import { descendants, memoryOf, peakMemoryOf } from "../proc.ts";
import type { Measured } from "../process.ts";
import { describeRun, toRow, toTable } from "../report.ts";
import { wideCsv } from "../scenarios.ts";
import { makeSite, type Site, startStorefront } from "../site.ts";
import { type SlowKind, startSlowClients } from "../slow/clients.ts";
import { SocketSampler } from "./sockets.ts";

interface MemoryBenchOptions {
  /** Only measure loads with this text in their name. */
  readonly only: string;
  /** A short run without a report. */
  readonly smoke: boolean;
}

interface Load {
  readonly name: string;
  readonly site: "60,000 brands" | "1,000 wide brands";
  readonly kind: SlowKind;
  readonly clients: number;
  readonly path: string;
}

const list = "/restapi/brands.json";
const loads: readonly Load[] = [
  unreadLoad("1,000 clients request 20 MB and read nothing", "unread", 1000),
  unreadLoad("500 clients request 20 MB, read 4 MB, and then stop", "stopped", 500),
  feedLoad("200 clients request the same feed page of 2.8 MB", "1000"),
  feedLoad("200 clients request different feed pages of 2.3 to 2.8 MB", "LIMIT"),
];

function unreadLoad(name: string, kind: SlowKind, clients: number): Load {
  return { name, kind, site: "60,000 brands", clients, path: list };
}

function feedLoad(name: string, limit: string): Load {
  const path = `/restapi/changes.json?since=0.0&limit=${limit}`;
  return { name, kind: "whole", site: "1,000 wide brands", clients: 200, path };
}

const header = [
  "meanwhile",
  "before",
  "server: peak",
  "server's sockets: peak",
  "all sockets: peak",
  "responses",
  "took",
];
/** How long we watch clients that don't read. */
const watchedSeconds = 5;

/** Runs on SQLite. @returns the number of failed requests */
export async function benchMemory({ only, smoke }: MemoryBenchOptions, folder: string): Promise<number> {
  const sites = new Map<Load["site"], Site>();
  const rows: string[] = [];
  let failures = 0;
  for (const load of loads) {
    if (!load.name.includes(only)) continue;
    const site = sites.get(load.site) ?? (await makeSiteOf(load, folder));
    sites.set(load.site, site);
    const measured = await measureLoad(smoke ? { ...load, clients: load.clients / 10 } : load, site);
    failures += measured.failures;
    rows.push(measured.row);
    console.log(measured.row);
  }
  if (!smoke && only === "") console.log(report(rows));
  return failures;
}

function makeSiteOf({ site }: Load, folder: string): Promise<Site> {
  return site === "60,000 brands" ? makeSite(folder, 60_000) : makeSite(folder, 1000, wideCsv);
}

async function measureLoad({ name, kind, clients: count, path }: Load, site: Site) {
  const server = await startStorefront(site);
  server.useCores(navigator.hardwareConcurrency);
  try {
    // The first list loads the site and encodes the list.
    await (await fetch(server.url + list, { headers: { "X-API-AUTH": site.key } })).arrayBuffer();
    const before = server.memory();
    const sampler = new SocketSampler(server.url);
    const begun = performance.now();
    const clients = await startSlowClients({ url: server.url, host: "x.test", key: site.key, kind, count, path });
    const received = kind === "whole" ? await clients.readAll() : await Bun.sleep(watchedSeconds * 1000);
    const seconds = (performance.now() - begun) / 1000;
    const { own, all } = sampler.stop();
    const { failures, complete } = received ?? (await clients.counts());
    await clients.stop();
    const missing = kind === "whole" ? count - complete : failures;
    const sizes = [before, peakOf(server), own, all].map((bytes) => `${Math.round(bytes / 1e6)} MB`);
    return { failures: missing, row: toRow([name, ...sizes, complete, `${seconds.toFixed(1)} s`]) };
  } finally {
    await server.stop();
  }
}

/** Returns the peak memory of a server's largest process. */
function peakOf({ pid }: Measured): number {
  const largest = descendants(pid).toSorted((a, b) => memoryOf(b) - memoryOf(a))[0] as number;
  return peakMemoryOf(largest);
}

function report(rows: readonly string[]): string {
  return `# Memory

${describeRun()}

How much memory a server on SQLite uses while many clients request a lot at once. The server's peak is its resident memory as counted by the kernel
(\`VmHWM\`). Containers count the memory of the server's sockets too (\`ss -tm\`: unacknowledged and reserved bytes). The memory of all the machine's
sockets (\`/proc/net/sockstat\`) includes what the kernel has received for the clients, which run on the same machine.

The goals are at most 500 MB for the sockets of 1,000 clients that don't read, and a peak of at most 300 MB for 200 feed pages.

${toTable(header, rows).join("\n")}
`;
}
