// More clients than the process has file descriptors.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { openWorkshop, type Workshop, waitFor } from "../support/command.ts";
import { openClient, toRequest, type WireClient } from "../support/wire-client.ts";

let shop: Workshop;
let clients: WireClient[];
beforeEach(() => {
  shop = openWorkshop();
  clients = [];
});
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await shop.close();
});

const limited = { wrap: (command: string) => `ulimit -n 256; ${command}` };

test("the first write is stored also when all file descriptors are taken by idle connections", async () => {
  await shop.must(["site", "add", "main", "--default"]);
  const key = (await shop.must(["key", "create", "--site", "main"])).trim();
  const server = await shop.serve([], limited);
  const port = Number(new URL(server.url).port);
  const writer = await openClient(port);
  clients.push(writer);
  writer.send("POST /restapi/brands.json HTTP/1.1\r\n");
  for (let count = 0; count < 400; count++) clients.push(await openClient(port));
  const body = '{"Name":"x"}';
  const headers = [`X-API-AUTH: ${key}`, `Content-Length: ${body.length}`];
  writer.send(toRequest("", headers, body).slice(2));
  expect((await writer.answers(1))[0]?.status).toBe(201);
});

test("documentation and metrics are served also when all file descriptors are taken by idle connections", async () => {
  const server = await shop.serve(["--log", "debug"], limited);
  await waitFor(() => server.stderr().includes("are loaded"), "everything to be loaded");
  const port = Number(new URL(server.url).port);
  const reader = await openClient(port);
  clients.push(reader);
  reader.send("GET /docs/guide HTTP/1.1\r\n");
  for (let count = 0; count < 400; count++) clients.push(await openClient(port));
  const others = ["/openapi.json", "/metrics", "/"].map((path) => toRequest(`GET ${path} HTTP/1.1`));
  reader.send(toRequest("").slice(2) + others.join(""));
  expect((await reader.answers(4)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});
