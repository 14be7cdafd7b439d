// Checks the proxies in front of a server, and in front of a recorder that shows what they send.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runProgram, startProcess } from "../../test/support/programs/processes.ts";
import { makeAuthority, type TestCertificate } from "./certificate.ts";
import { type ClientResponse, connectClient, type ProxyClient } from "./client.ts";
import { checkConsole } from "./console.ts";
import { type ProxyKind, proxyKinds, startProxy } from "./proxy.ts";
import { startRecorder } from "./recorder.ts";
import type { Report } from "./report.ts";
import { run } from "./tools.ts";

interface Bench {
  readonly name: string;
  readonly report: Report;
  readonly client: ProxyClient;
}

export async function checkProxies(report: Report, folder: string, names: readonly string[]): Promise<void> {
  const wanted = proxyKinds.filter(({ name }) => names.includes(name));
  if (run(["openssl", "version"]).status !== 0)
    return wanted.forEach(({ name }) => {
      report.skip(name, "openssl isn't installed");
    });
  const certificate = await makeAuthority(folder);
  await Promise.all(wanted.map((kind) => checkProxy(report, folder, kind, certificate)));
}

async function checkProxy(report: Report, folder: string, kind: ProxyKind, certificate: TestCertificate) {
  const program = kind.find(mkdtempSync(join(folder, `${kind.name}-package-`)));
  if (!program) return report.skip(kind.name, "it isn't installed, and its Debian package can't be downloaded");
  await Promise.all([
    checkHeaders(report, join(folder, `${kind.name}-recorder`), kind, program, certificate),
    checkRequests(report, join(folder, `${kind.name}-server`), kind, program, certificate),
    checkConsole(report, join(folder, `${kind.name}-console`), kind, program, certificate),
  ]);
}

/** What the proxy sends to the server, as a recorder sees it. */
async function checkHeaders(
  report: Report,
  folder: string,
  kind: ProxyKind,
  program: string,
  { authority, ...files }: TestCertificate,
): Promise<void> {
  const recorder = startRecorder();
  const proxy = await startProxy(kind, program, folder, recorder.port, { authority, ...files });
  const client = await connectClient(proxy.ports.https, authority);
  try {
    const check = (what: string, holds: boolean, detail?: unknown) => {
      report.check(`${kind.name}: ${what}`, holds, detail);
    };
    const waited = waits(client, 55);
    for (let i = 0; i < 20; i++) await client.request({ path: "/restapi/brands.json" });
    check("connections are reused: 20 sequential requests plus one long poll use only 2", recorder.connections() <= 2);
    await client.raw(forgedRequest);
    checkForged(check, recorder.requests.at(-1) ?? "");
    await client.request({ path: "/restapi/../x", headers: { "x-request-id": "abc" } });
    check("dot segments reach the server unchanged", / \/restapi\/\.\.\/x /.test(recorder.requests.at(-1) ?? ""));
    await Bun.sleep(12_000);
    const { status } = await client.request({ path: "/after-a-pause" });
    check("a request after a pause longer than the idle timeout gets a 200", status === 200);
    check("a response can take 55 seconds", await waited);
  } finally {
    client.close();
    await proxy.stop();
    recorder.stop();
  }
}

async function waits(client: ProxyClient, seconds: number): Promise<boolean> {
  const from = performance.now();
  const { status, body } = await client.request({ path: `/wait/${seconds}` });
  return status === 200 && body === "ok" && performance.now() - from >= seconds * 1000 - 100;
}

/** A client that claims to be a proxy. */
const forgedRequest = [
  "GET /forged HTTP/1.1",
  "Host: shop.example",
  "Connection: close, X-Nominated",
  "X-Nominated: 1",
  "Keep-Alive: timeout=99",
  "Proxy-Connection: keep-alive",
  "Proxy-Authorization: Basic eA==",
  "TE: trailers",
  "Upgrade: websocket",
  "Forwarded: for=192.0.2.66;host=evil.example",
  "X-Forwarded-For: 192.0.2.66",
  "X-Forwarded-Host: evil.example",
  "X-Forwarded-Proto: ftp",
  "X-API-AUTH: a-key",
  "\r\n",
].join("\r\n");

function checkForged(check: (what: string, holds: boolean, detail?: unknown) => void, section: string): void {
  const [line, ...fields] = section.toLowerCase().split("\r\n");
  const values = (name: string) =>
    fields.filter((field) => field.startsWith(`${name}:`)).map((field) => field.slice(name.length + 1).trim());
  check("HTTP/1.1 clients work, and the server gets HTTP/1.1", line === "get /forged http/1.1", section);
  check("Host is what the client sent", String(values("host")) === "shop.example", section);
  check("X-Forwarded-For is the client's address", String(values("x-forwarded-for")) === "127.0.0.1", section);
  check("X-Forwarded-Host is the request's host", String(values("x-forwarded-host")) === "shop.example", section);
  check("X-Forwarded-Proto is https", String(values("x-forwarded-proto")) === "https", section);
  const cleared = ["forwarded", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"];
  const left = cleared.filter((name) => values(name).length > 0);
  check(`these are removed: ${cleared.join(", ")}`, left.length === 0, section);
  check("Connection doesn't close anything", !/close|upgrade/.test(String(values("connection"))), section);
  check("the key is passed on", String(values("x-api-auth")) === "a-key", section);
}

/** What a client gets from a real server through the proxy. */
async function checkRequests(
  report: Report,
  folder: string,
  kind: ProxyKind,
  program: string,
  certificate: TestCertificate,
): Promise<void> {
  const database = `sqlite:${folder}-data/test.db`;
  const added = await runProgram(["site", "add", "shop", "--hostname", "shop.example", "--with-key", "--json"], {
    DATABASE: database,
  });
  const { key } = JSON.parse(added.stdout) as { key: string };
  const server = await startProcess({ DATABASE: database, TRUST_PROXY: "yes" });
  const proxy = await startProxy(kind, program, folder, Number(new URL(server.url).port), certificate);
  const client = await connectClient(proxy.ports.https, certificate.authority);
  const keyed: ProxyClient = {
    ...client,
    request: (one) => client.request({ ...one, headers: { "x-api-auth": key, ...one.headers } }),
  };
  try {
    const bench = { name: kind.name, report, client: keyed };
    report.check(`${kind.name}: negotiates HTTP/2`, client.protocol() === "h2", client.protocol());
    const polled = checkPolls(bench);
    await checkWrites(bench);
    await checkLinks(bench, `${server.url}`, key);
    await checkSizes(bench);
    await checkRedirect(bench, proxy.ports.http);
    await polled;
    await server.end();
    const { status } = await keyed.request({ path: "/readyz" });
    report.check(`${kind.name}: a stopped server means a 502 or 503`, [502, 503].includes(status), status);
  } finally {
    client.close();
    await proxy.stop();
    await server.end("SIGKILL").catch(() => undefined);
    rmSync(`${folder}-data`, { recursive: true, force: true });
  }
}

async function checkWrites({ name, report, client }: Bench): Promise<void> {
  const brands = { path: "/restapi/brands.json" };
  const created = await Promise.all(
    Array.from({ length: 50 }, (_, i) => client.request({ ...brands, method: "POST", body: brand(`Brand ${i}`) })),
  );
  report.check(
    `${name}: 50 creates at once get 201s`,
    created.every(({ status }) => status === 201),
    created[0],
  );
  const list = await client.request({ ...brands, headers: { "accept-encoding": "gzip" } });
  const etag = list.headers.etag ?? "";
  report.check(`${name}: a compressed list's ETag stays strong`, /^"/.test(etag), list.headers);
  report.check(`${name}: a list is compressed if the client asks`, list.headers["content-encoding"] === "gzip");
  const again = await client.request({ ...brands, headers: { "if-none-match": etag, "accept-encoding": "gzip" } });
  report.check(`${name}: If-None-Match gets a 304`, again.status === 304, again);
  const one = await client.request({ path: "/restapi/brands/1.json" });
  const headers = { "if-match": one.headers.etag ?? "" };
  const changed = await client.request({
    path: "/restapi/brands/1.json",
    method: "PATCH",
    body: brand("New"),
    headers,
  });
  report.check(`${name}: PATCH with If-Match gets a 200`, changed.status === 200, changed);
  const removed = await client.request({ path: "/restapi/brands.json?ID=2", method: "DELETE" });
  report.check(`${name}: DELETE gets a 200`, removed.status === 200, removed);
}

/** Long polls: one for brands, which ends when one is created, and one for locations, which lasts the whole time. */
async function checkPolls({ name, report, client }: Bench): Promise<void> {
  const path = "/restapi/changes.json?since=";
  const now = await client.request({ path: `${path}now` });
  const { Next } = JSON.parse(now.body) as { Next: string };
  const from = performance.now();
  const [woken, empty] = await Promise.all(
    ["brands", "locations"].map((resource) => client.request({ path: `${path}${Next}&wait=55&resource=${resource}` })),
  );
  report.check(
    `${name}: a long poll ends when there's a change`,
    woken?.body.includes('"Resource":"brands"') === true,
    woken,
  );
  report.check(
    `${name}: a long poll can take 55 seconds`,
    empty?.status === 200 && performance.now() - from >= 54_000,
    empty,
  );
}

/** Requests the longest `Link` that the server sends, which is 4 KiB. */
async function checkLinks({ name, report, client }: Bench, server: string, key: string): Promise<void> {
  let longest: ClientResponse | undefined;
  for (let length = 900; length < 2000; length += 10) {
    const path = `/restapi/brands.json?limit=1&offset=1&filter[Name][contains]=${"%62".repeat(3)}&_=${"y".repeat(length)}`;
    const direct = await fetch(server + path, { headers: { host: "shop.example", "x-api-auth": key } });
    if (!direct.headers.has("link")) break;
    longest = await client.request({ path });
  }
  const length = longest?.headers.link?.length ?? 0;
  report.check(`${name}: a 4 KiB Link arrives (${length} bytes)`, length > 3900, longest);
}

async function checkSizes({ name, report, client }: Bench): Promise<void> {
  const limit = 1024 * 1024;
  const post = (size: number) =>
    client.request({ path: "/restapi/brands.json", method: "POST", body: brand("Padded").padEnd(size) });
  const largest = await post(limit);
  report.check(`${name}: a body of 1 MiB is stored`, largest.status === 201, largest);
  const larger = await post(limit + 1);
  report.check(`${name}: a larger body gets the server's 413`, isProblem(larger, 413), larger);
  const postBatch = (size: number) =>
    client.request({ path: "/restapi/batch.json", method: "POST", body: '{"Operations":[]}'.padEnd(size) });
  const batch = await postBatch(8 * limit);
  report.check(`${name}: a batch of 8 MiB is stored`, batch.status === 200, batch);
  const largerBatch = await postBatch(8 * limit + 1);
  report.check(`${name}: a larger batch gets the server's 413`, isProblem(largerBatch, 413), largerBatch);
  const section = (size: number) =>
    client.request({ path: "/healthz", headers: { "x-long": "a".repeat(7000), "x-other": "b".repeat(size - 7000) } });
  const long = await section(14_000);
  report.check(`${name}: a header section of 14 KiB is accepted`, long.status === 200, long);
  const longer = await section(18_000);
  report.check(`${name}: a header section of 18 KB gets the server's 431`, isProblem(longer, 431), longer);
}

async function checkRedirect({ name, report }: Bench, port: number): Promise<void> {
  const options = { headers: { host: "shop.example" }, redirect: "manual" } as const;
  const { status, headers } = await fetch(`http://127.0.0.1:${port}/restapi/brands.json`, options);
  const isPermanent = status === 308 && /^https:\/\/shop\.example/.test(headers.get("location") ?? "");
  report.check(`${name}: plain HTTP is redirected to HTTPS with a 308`, isPermanent, { status, headers });
}

function isProblem({ status, headers }: ClientResponse, expected: number): boolean {
  return status === expected && headers["content-type"]?.startsWith("application/problem+json") === true;
}

function brand(name: string): string {
  return JSON.stringify({ Name: name, AccountNumber: "x".repeat(60) });
}
