// Limits on batch requests: body size (checked only after the key), time, and how many may run at once per process, site and key.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createKey } from "../../src/operator/sites/keys.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { waitForPlaces } from "../support/http/batch.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";
import { waitUntil } from "../support/time.ts";
import { openClient, type ReceivedResponse, type WireClient } from "../support/wire/client.ts";

const maxBodyBytes = 8 * 1024 * 1024;
const path = "/restapi/batch.json";
const ofKey = /the API key sfk_\w+\.\.\. already has 2 batches in progress; try again when one is done/;
const ofSite = "this site already has 3 batches in progress; try again when one is done";
const ofProcess = "this server already has 4 batches in progress; try again when one is done";

let server: TestServer;
/** Times out its clients after a second. */
let impatient: TestServer;
let keys: string[];
/** Keys of the site `y`, whose hostname is `y`. */
let keysOfY: string[];
beforeAll(async () => {
  server = await startTestServer({ settings: { IDLE_TIMEOUT: "60" } });
  impatient = await startTestServer({ settings: { IDLE_TIMEOUT: "1" } });
  keys = [server.key, await server.issueKey(), await server.issueKey()];
  const y = await createSite(server.engine, "y", { hostnames: ["y"] }, Date.now());
  keysOfY = await Array.fromAsync([1, 2], async () => (await createKey(server.engine, y, {}, Date.now())).key);
});
afterAll(() => Promise.all([server.stop(), impatient.stop()]));

const create = (Name: string) => ({ Method: "POST", Resource: "brands", Record: { Name } });

/** A valid body of exactly this length, mostly whitespace. */
function bodyOf(length: number, name = "long"): string {
  const body = JSON.stringify({ Operations: [create(name)] });
  return body.slice(0, -1) + " ".repeat(length - body.length) + body.slice(-1);
}

const head = (key: string, ...lines: string[]) =>
  `${[`POST ${path} HTTP/1.1`, `Host: ${keysOfY.includes(key) ? "y" : "x"}`, `X-API-AUTH: ${key}`, ...lines].join("\r\n")}\r\n\r\n`;
const statusOf = ({ status }: ReceivedResponse) => status;
const send = (key = server.key, body = bodyOf(200, "sent"), of = server) =>
  exchange(head(key, `Content-Length: ${body.length}`) + body, of);

/** Sends bytes on a new connection, and returns the response. */
async function exchange(bytes: string, { port } = server): Promise<ReceivedResponse> {
  const client = await openClient(port);
  client.send(bytes);
  const [response] = await client.responses(1);
  client.socket.destroy();
  return response as ReceivedResponse;
}

/** Opens a client whose batch request has a place: the server is waiting for its body of `length` bytes. */
async function takePlace(key: string, length = 1000, { port } = server): Promise<WireClient> {
  const client = await openClient(port);
  client.send(head(key, `Content-Length: ${length}`, "Expect: 100-continue"));
  await client.until((received) => received === "HTTP/1.1 100 Continue\r\n\r\n");
  return client;
}

describe("batch body", () => {
  test.each([1024 * 1024 + 1, maxBodyBytes])("%d bytes are accepted", async (length) => {
    const body = bodyOf(length);
    const responses = await Promise.all([
      exchange(head(server.key, `Content-Length: ${length}`) + body),
      exchange(`${head(server.key, "Transfer-Encoding: chunked")}${length.toString(16)}\r\n${body}\r\n0\r\n\r\n`),
    ]);
    expect(responses.map(statusOf)).toEqual([200, 200]);
  });

  test("more than 8 MiB gets a 413 as soon as that is known", async () => {
    const chunk = `100000\r\n${" ".repeat(1024 * 1024)}\r\n`;
    const responses = await Promise.all([
      exchange(head(server.key, `Content-Length: ${maxBodyBytes + 1}`)),
      exchange(head(server.key, "Transfer-Encoding: chunked") + chunk.repeat(9)),
    ]);
    expect(responses.map(statusOf)).toEqual([413, 413]);
    for (const { body } of responses) expect(body).toContain(`"the body has more than ${maxBodyBytes} bytes"`);
  });

  test("more than 1 MiB gets a 413 on any other path", async () => {
    const body = bodyOf(1024 * 1024 + 1);
    for (const other of ["/restapi/brands.json", "/restapi/brands/1.json"])
      expect((await server.call("PUT", other, { body })).status).toBe(413);
  });

  test("not awaited if the client isn't allowed to send it", async () => {
    const reading = await server.issueKey({ rights: ["read"] });
    const announced = `Content-Length: ${maxBodyBytes}`;
    const responses = await Promise.all([
      exchange(head("sfk_wrong", announced)),
      exchange(head(reading, announced)),
      exchange(head(server.key, announced).replace(path, `${path}?dryrun=1`)),
      exchange(head(server.key, announced, "Content-Encoding: br")),
    ]);
    expect(responses.map(statusOf)).toEqual([401, 403, 400, 415]);
  });

  test("a stalled body gets a 408, and nothing is stored", async () => {
    const body = bodyOf(2 * 1024 * 1024, "stalled");
    const sent = head(impatient.key, `Content-Length: ${body.length}`) + body.slice(0, -1);
    const response = await exchange(sent, impatient);
    expect([response.status, response.headers.connection]).toEqual([408, "close"]);
    expect(response.body).toContain(
      `only ${body.length - 1} of the ${body.length} bytes declared by Content-Length arrived in time`,
    );
    expect((await impatient.call("GET", "/restapi/brands.json")).text).toBe("[]");
  });
});

describe("batch places", () => {
  test("a key's third concurrent batch gets a 429; its other requests and other keys are served", async () => {
    const [key, other] = keys as [string, string];
    const clients = [await takePlace(key), await takePlace(key)];
    const { status, headers, body } = await send(key);
    const { type, detail } = JSON.parse(body);
    expect([status, headers["retry-after"], type]).toEqual([429, "1", "/docs/problems/too-many-requests"]);
    expect(detail).toMatch(ofKey);
    expect((await server.call("POST", "/restapi/brands.json", { key, body: { Name: "single" } })).status).toBe(201);
    expect((await send(other)).status).toBe(200);
    for (const client of clients) client.socket.destroy();
    await waitForPlaces(server);
  });

  test("a site's fourth and the process's fifth concurrent batch get a 429 before their bodies are sent", async () => {
    const [first, second, third] = keys as [string, string, string];
    const [ofY, otherOfY] = keysOfY as [string, string];
    const rejection = async (key: string) => {
      const { status, body } = await exchange(head(key, `Content-Length: ${maxBodyBytes}`));
      return [status, JSON.parse(body).detail];
    };
    const clients = [await takePlace(first), await takePlace(first), await takePlace(second)];
    expect(await rejection(third)).toEqual([429, ofSite]);
    clients.push(await takePlace(ofY));
    expect(await rejection(otherOfY)).toEqual([429, ofProcess]);
    clients.shift()?.socket.destroy();
    await waitUntil(async () => (await send(third)).status === 200, "a place");
    for (const client of clients) client.socket.destroy();
    await waitForPlaces(server);
  });

  test.each<[string, number, (client: WireClient) => Promise<unknown>]>([
    ["a response", 200, (client) => finish(client, bodyOf(1000))],
    ["a fault", 400, (client) => finish(client, bodyOf(1000).replace("POST", "MOVE"))],
    ["a malformed body", 400, (client) => finish(client, "x".repeat(1000))],
    ["a half-closed connection", 400, (client) => finishEarly(client)],
  ])("freed after %s", async (_, status, end) => {
    for (let round = 0; round < 3; round++) {
      const clients = await Promise.all([takePlace(server.key), takePlace(server.key)]);
      expect(await Promise.all(clients.map(end))).toEqual([status, status]);
    }
    expect((await send()).status).toBe(200);
  });

  test("freed when clients disconnect, before or while sending their bodies", async () => {
    for (let round = 0; round < 6; round++) {
      const clients = await Promise.all([takePlace(server.key, maxBodyBytes), takePlace(server.key, maxBodyBytes)]);
      for (const client of clients) {
        if (round % 2 === 1) await client.sendPieces([" ".repeat(2 * 1024 * 1024)]);
        client.socket.resetAndDestroy();
      }
      await waitForPlaces(server);
    }
  });

  test("of 100 concurrent batches, some get a 429 and each of the others is stored once", async () => {
    const before = await countOf("concurrent");
    const body = bodyOf(200_000, "concurrent");
    const [first] = keys as [string];
    const clients = [await takePlace(first)];
    const responses = await Promise.all(Array.from({ length: 100 }, (_, index) => send(keys[index % 3], body)));
    for (const client of clients) await finish(client, bodyOf(1000));
    const stored = responses.filter(({ status }) => status === 200);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 429]));
    expect((await countOf("concurrent")) - before).toBe(stored.length);
    for (const key of keys) expect((await send(key)).status).toBe(200);
  });

  test("freed after a timeout", async () => {
    const { key } = impatient;
    const clients = await Promise.all([takePlace(key, 1000, impatient), takePlace(key, 1000, impatient)]);
    expect(await Promise.all(clients.map((client) => finish(client, "")))).toEqual([408, 408]);
    expect((await send(key, bodyOf(200), impatient)).status).toBe(200);
  });
});

/** Sends the rest of a batch request, and returns the status. */
async function finish(client: WireClient, rest: string): Promise<number | undefined> {
  client.send(rest);
  const [, response] = await client.responses(2);
  client.socket.destroy();
  return response?.status;
}

async function finishEarly(client: WireClient): Promise<number | undefined> {
  client.socket.end("half");
  const [, response] = await client.responses(2);
  client.socket.destroy();
  return response?.status;
}

async function countOf(name: string): Promise<number> {
  const { headers } = await server.call("GET", `/restapi/brands.json?limit=1&filter[Name]=${name}`);
  return Number(headers.get("X-Total-Count"));
}
