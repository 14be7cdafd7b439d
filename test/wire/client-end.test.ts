// A handler working on a request finds out when the client closes its side or the connection.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:tls";
import type { Listener } from "../../src/wire/listen.ts";
import type { WireRequest } from "../../src/wire/request.ts";
import { makeCertificate } from "../support/http/certificate.ts";
import { waitUntil, waitUntilSettled } from "../support/time.ts";
import { openClient, toRequest, type WireClient } from "../support/wire/client.ts";
import { startListener, text } from "../support/wire/listener.ts";

const get = (target: string) => toRequest(`GET ${target} HTTP/1.1`);

/** Returns a program that requests `/wait` and then keeps the connection open, until it is killed. */
const waitingProgram = (secure: boolean) => `
const { connect } = require(${secure ? '"node:tls"' : '"node:net"'});
const socket = connect({ port: Number(process.argv[2]), host: "127.0.0.1", rejectUnauthorized: false });
socket.write("GET /wait HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n");
setInterval(() => {}, 1000);
`;

for (const secure of [false, true]) {
  describe(`client end ${secure ? "over TLS" : "without TLS"}`, () => {
    let listener: Listener;
    /** The targets of requests that have arrived, and the targets of requests whose client has ended before the response. */
    let arrived: string[];
    let ended: string[];
    /** Responds to `/wait`. The end of its client does the same. */
    let respond: () => void;

    beforeEach(() => {
      [arrived, ended] = [[], []];
      const released = Promise.withResolvers<void>();
      respond = released.resolve;
      listener = startListener(
        (request: WireRequest) => {
          arrived.push(request.target);
          request.onClientEnd(() => void ended.push("replaced"));
          const end = new Promise<void>((resolve) => {
            request.onClientEnd(() => {
              ended.push(request.target);
              resolve();
            });
          });
          if (request.target === "/wait") return Promise.race([end, released.promise]).then(() => text("waited"));
          return text("at once");
        },
        secure ? { tls: makeCertificate() } : {},
      );
    });
    afterEach(() => listener.stop(0));

    function open(): Promise<WireClient> {
      const options = { port: listener.port, host: "127.0.0.1", rejectUnauthorized: false, allowHalfOpen: true };
      return openClient(listener.port, secure ? connect(options) : undefined);
    }

    /** Lets the server respond to another client, so that it has handled the events before that. */
    async function serveAnother(): Promise<void> {
      const client = await open();
      client.send(get("/other"));
      await client.responses(1);
      client.socket.destroy();
    }

    test("closes its side, and still gets the response", async () => {
      const client = await open();
      client.send(get("/wait"));
      await waitUntil(() => arrived.length === 1, "the request");
      client.socket.end();
      const [response] = await client.responses(1);
      expect(response).toMatchObject({ status: 200, body: "waited" });
      expect(response?.headers.connection).toBe("close");
      expect(ended).toEqual(["/wait"]);
      await client.ended();
      client.socket.destroy();
    });

    test("closes its side along with the request", async () => {
      const client = await open();
      client.socket.end(get("/wait"));
      expect(await client.responses(1)).toMatchObject([{ body: "waited" }]);
      client.socket.destroy();
    });

    test("closes its side after several requests, and gets all responses", async () => {
      const client = await open();
      client.send(get("/wait") + get("/wait") + get("/other"));
      await waitUntil(() => arrived.length === 1, "the request");
      client.socket.end();
      expect((await client.responses(3)).map(({ body }) => body)).toEqual(["waited", "waited", "at once"]);
      client.socket.destroy();
    });

    test("connection reset", async () => {
      const client = await open();
      client.send(get("/wait"));
      await waitUntil(() => arrived.length === 1, "the request");
      if (secure) client.socket.destroy();
      else client.socket.resetAndDestroy();
      await waitUntil(() => ended.length === 1, "the end of the client");
      await waitUntil(() => listener.usage().connections === 0, "the end of the connection");
    });

    test("client process killed", async () => {
      const program = ["-e", waitingProgram(secure), "x", String(listener.port)];
      const child = Bun.spawn(["node", ...program], { stdio: ["ignore", "ignore", "ignore"] });
      await waitUntil(() => arrived.length === 1, "the request");
      await serveAnother();
      expect(ended).toEqual([]);
      child.kill("SIGKILL");
      await waitUntil(() => ended.length === 1, "the end of the client");
      await waitUntil(() => listener.usage().connections === 0, "the end of the connection");
    });

    test("not reported after the response, or while the client is connected", async () => {
      const client = await open();
      client.send(get("/other") + get("/wait"));
      await waitUntil(() => arrived.length === 2, "the requests");
      await serveAnother();
      expect(ended).toEqual([]);
      respond();
      await client.responses(2);
      client.socket.end();
      await client.ended();
      client.socket.destroy();
      expect(ended).toEqual([]);
    });
  });
}

test("client end: many requests before the first response take limited memory", async () => {
  const released = Promise.withResolvers<void>();
  const listener = startListener(() => released.promise.then(() => text("waited")), { idleTimeoutSeconds: 1 });
  try {
    const client = await openClient(listener.port);
    client.socket.on("error", () => {});
    client.send(get(`/wait?${"x".repeat(1000)}`).repeat(10_000));
    const bytes = await waitUntilSettled(() => listener.usage().bytes || undefined, "full buffers");
    expect(bytes).toBeLessThan(2 * 1024 * 1024);
    client.socket.destroy();
    released.resolve();
    await waitUntil(() => listener.usage().connections === 0, "the end of the connection");
  } finally {
    await listener.stop(0);
  }
});
