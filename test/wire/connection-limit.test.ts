// One connection more than the limit allows.

import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect as connectPlainly } from "node:net";
import { connect } from "node:tls";
import type { Listener, ListenOptions } from "../../src/wire/listen.ts";
import type { Incident, WireRequest } from "../../src/wire/request.ts";
import type { WireResponse } from "../../src/wire/response.ts";
import { makeCertificate } from "../support/http/certificate.ts";
import { waitUntil } from "../support/time.ts";
import { openClient, toRequest, type WireClient } from "../support/wire/client.ts";
import { echo, startListener } from "../support/wire/listener.ts";

const limit = 4;
let listener: Listener;
let clients: WireClient[] = [];
let releases: (() => void)[] = [];
let incidents: Incident[] = [];

function respond(request: WireRequest): WireResponse | Promise<WireResponse> {
  if (request.target !== "/waiting") return echo(request);
  return new Promise<void>((resolve) => releases.push(resolve)).then(() => echo(request));
}

function start(options: Partial<ListenOptions> = {}): void {
  incidents = [];
  listener = startListener(
    respond,
    { connections: limit, ...options },
    { logIncident: (incident) => void incidents.push(incident) },
  );
}

afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  clients = [];
  releases = [];
  await listener.stop(0);
});

async function open(): Promise<WireClient> {
  const options = { port: listener.port, host: "127.0.0.1", rejectUnauthorized: false, allowHalfOpen: true };
  const client = await openClient(listener.port, listener.url.startsWith("https") ? connect(options) : undefined);
  clients.push(client);
  return client;
}

const openAll = (count: number) => Promise.all(Array.from({ length: count }, open));
const get = (target: string) => toRequest(`GET ${target} HTTP/1.1`);

/** Returns whether the connection is open, so that a request on it gets a response. */
async function isKept(client: WireClient): Promise<boolean> {
  const before = client.received.length;
  client.send(get("/kept"));
  return client
    .until((received) => received.includes("GET /kept", before))
    .then(
      () => true,
      () => false,
    );
}

async function use(client: WireClient): Promise<void> {
  client.send(get("/used"));
  await client.until((received) => received.includes("GET /used"));
}

describe("at the limit of connections", () => {
  test.each([
    ["", false],
    [" over TLS", true],
  ])("a new connection pushes out the longest idle one%s", async (_, isSecure) => {
    start(isSecure ? { tls: makeCertificate() } : {});
    const [first, second, ...others] = (await openAll(limit)) as [WireClient, WireClient, ...WireClient[]];
    for (const client of [...others, first]) await use(client);
    expect(await isKept(await open())).toBe(true);
    expect(await isKept(second)).toBe(false);
    expect(incidents).toEqual(["idle connection ended"]);
    for (const client of [...others, first]) expect(await isKept(client)).toBe(true);
  });

  test("half a request doesn't make a connection busy, even if more arrives", async () => {
    start();
    const [first, ...others] = (await openAll(limit)) as [WireClient, ...WireClient[]];
    first.send("GET / HTTP/1.1\r\nHost: ");
    for (const client of others) await use(client);
    first.send("x");
    await use(others[0] as WireClient);
    expect(await isKept(await open())).toBe(true);
    first.send("y");
    await expect(first.ended()).resolves.toBeDefined();
    for (const client of others) expect(await isKept(client)).toBe(true);
  });

  test("a connection turned away before its TLS handshake frees its descriptor", async () => {
    start({ tls: makeCertificate() });
    for (const client of await openAll(limit)) client.send(get("/waiting"));
    await waitUntil(() => releases.length === limit, "all requests");
    const before = readdirSync("/proc/self/fd").length;
    const options = { port: listener.port, host: "127.0.0.1", allowHalfOpen: true };
    const late = Array.from({ length: 20 }, () => connectPlainly(options));
    await Promise.all(late.map((socket) => new Promise((resolve) => socket.once("end", resolve).resume())));
    expect(incidents).toEqual(new Array(20).fill("connection rejected"));
    // The clients, which are in this process too, do not close their side.
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + late.length);
    for (const socket of late) socket.destroy();
  });

  test("without an idle connection, a new one is closed", async () => {
    start();
    const busy = await openAll(limit);
    for (const client of busy) client.send(get("/waiting"));
    await waitUntil(() => releases.length === limit, "all requests");
    const late = await open();
    expect((await late.ended()).received).toBe("");
    expect(incidents).toEqual(["connection rejected"]);
    for (const release of releases) release();
    for (const client of busy) expect((await client.responses(1))[0]?.body).toBe("GET /waiting ");
    expect(await isKept(await open())).toBe(true);
  });

  test("a connection closed during its request doesn't count", async () => {
    start();
    const busy = await openAll(limit);
    for (const client of busy) client.send(get("/waiting"));
    await waitUntil(() => releases.length === limit, "all requests");
    for (const { socket } of busy) socket.destroy();
    for (const release of releases) release();
    const later: WireClient[] = [];
    for (let count = 0; count < limit; count++) {
      const client = await open();
      if (await isKept(client)) later.push(client);
      else count--;
    }
    for (const client of later) expect(await isKept(client)).toBe(true);
  });
});
