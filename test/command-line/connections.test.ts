// More clients connect than the process has file descriptors for.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { openWorkspace, type Workspace } from "../support/programs/command.ts";
import { waitUntil } from "../support/time.ts";
import { openClient, toRequest, type WireClient } from "../support/wire/client.ts";

let workspace: Workspace;
let clients: WireClient[];
beforeEach(() => {
  workspace = openWorkspace();
  clients = [];
});
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await workspace.close();
});

const limited = { wrap: (command: string) => `ulimit -n 256; ${command}` };

/** Starts a server with a site, limited to 256 open files. Returns a function that connects a client, and a request that creates a brand. */
async function serve(args: readonly string[] = []) {
  await workspace.data.addSite("main", { isDefault: true });
  const key = await workspace.data.addKey("main");
  const server = await workspace.serve(["--log", "warn", ...args], limited);
  const open = async () => {
    const client = await openClient(Number(new URL(server.url).port));
    clients.push(client);
    return client;
  };
  const body = '{"Name":"x"}';
  const request = toRequest(
    "POST /restapi/brands.json HTTP/1.1",
    [`X-API-AUTH: ${key}`, `Content-Length: ${body.length}`],
    body,
  );
  return { server, open, request };
}

test.each([
  ["the file descriptors allow", 192, []],
  ["`--connections` allows", 100, ["--connections", "100"]],
])("more idle clients than %s: a new client can still write", async (_, most, args) => {
  const { server, open, request } = await serve(args);
  for (let count = 0; count < 400; count++) await open();
  const writer = await open();
  writer.send(request);
  expect((await writer.responses(1))[0]?.status).toBe(201);
  const left = () => clients.filter(({ socket }) => !socket.readableEnded).length;
  await waitUntil(() => left() === most, `${most} connections`, { output: () => String(left()) });
  expect(server.stderr()).toContain("idle connection ended");
});

test("half a request on each of many connections: a write is still stored", async () => {
  const { open, request } = await serve();
  for (let count = 0; count < 400; count++) (await open()).send("GET / HTTP/1.1\r\n");
  const writer = await open();
  writer.send(request);
  expect((await writer.responses(1))[0]?.status).toBe(201);
});

test("all file descriptors used by idle connections: documentation is still served", async () => {
  const { server, open } = await serve(["--log", "debug"]);
  await waitUntil(() => server.stderr().includes("loaded the rest of the program"), "everything to be loaded");
  for (let count = 0; count < 400; count++) await open();
  const reader = await open();
  const paths = ["/docs/guide", "/openapi.json", "/"];
  reader.send(paths.map((path) => toRequest(`GET ${path} HTTP/1.1`)).join(""));
  expect((await reader.responses(3)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test("--connections above the number of file descriptors: rejected in one line", async () => {
  const { code, stderr } = await workspace.run(["serve", "--port", "0", "--connections", "193"], limited);
  expect([code, stderr]).toEqual([
    2,
    "storefront: --connections (STOREFRONT_CONNECTIONS) can be at most 192, because this process can only open 256 files; lower it, or raise `ulimit -n`\n",
  ]);
});
