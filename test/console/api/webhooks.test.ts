// Webhooks in the API of the console.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { ServerResponse } from "node:http";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { changeWebhookUrl, retryWebhook } from "../../../src/operator/webhooks/webhooks.ts";
import { toDeliveryPolicy } from "../../../src/webhooks/address-policy.ts";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { waitUntil } from "../../support/time.ts";
import { startReceiver, type TestReceiver } from "../../support/webhooks/receiver.ts";
import { createTestWebhook } from "../../support/webhooks/test-webhook.ts";

const webhooks = "/sites/shop/webhooks";
const brands = "/sites/shop/records/brands";
/** A public address that is reserved for documentation, at which nothing listens. */
const url = "https://203.0.113.9/hooks";

describe("webhooks in the console", () => {
  let server: TestConsole;
  let anna: ConsoleClient;
  let receiver: TestReceiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  beforeEach(async () => {
    await server?.stop();
    server = await startTestConsole({
      settings: { WEBHOOK_ALLOW: "203.0.113.0/24" },
    });
    anna = await server.signIn("anna");
    receiver.respond(200);
  });
  afterAll(async () => {
    await server.stop();
    await receiver.stop();
  });

  const list = async () => (await anna.call("GET", webhooks)).json.webhooks;
  /** Adds a webhook to a receiver on this machine, which only the command line may add. Returns its ID. */
  const addLocal = async () => (await createTestWebhook(server.engine, server.site.ID, receiver.url)).webhook;
  const post = (id: number, action: string, body: object = {}) =>
    anna.call("POST", `${webhooks}/${id}/${action}`, body);

  test("are added with a secret that is shown once, and removed", async () => {
    const added = await anna.call("POST", webhooks, { url, resources: ["brands"] });
    expect(added.json).toMatchObject({ url, resources: ["brands"], status: "active", paused: null, behind: 0 });
    expect(added.json.secret).toStartWith("whsec_");
    expect((await anna.call("GET", webhooks)).text).not.toContain("whsec_");
    expect((await anna.call("DELETE", `${webhooks}/${added.json.id}`)).status).toBe(200);
    expect(await list()).toEqual([]);
    expect((await anna.call("DELETE", `${webhooks}/${added.json.id}`)).status).toBe(404);
  });

  const bad: [string, unknown][] = [
    ["no URL", {}],
    ["an invalid URL", { url: "example" }],
    ["another protocol", { url: "ftp://203.0.113.9/" }],
    ["this machine by its name", { url: "http://localhost:1/" }],
    ["this machine by its address", { url: "http://127.0.0.1:1/" }],
    ["this machine by its IPv6 address", { url: "http://[::1]:1/" }],
    ["this machine as a number", { url: "http://2130706433/" }],
    ["a private network", { url: "https://10.0.0.1/" }],
    ["the metadata service of a cloud", { url: "http://169.254.169.254/" }],
    ["a password", { url: "https://a:b@203.0.113.9/" }],
    ["an unknown resource", { url, resources: ["nothing"] }],
    ["resources that are not a list", { url, resources: "brands" }],
    ["an invalid time", { url, since: { time: "yesterday" } }],
    ["a cursor of another epoch", { url, since: { cursor: "abcdef123456.9" } }],
  ];
  test.each(bad)("with %s are not added", async (_, body) => {
    const { status } = await anna.call("POST", webhooks, body);
    expect([400, 410]).toContain(status);
    expect(await list()).toEqual([]);
  });

  test("send a test event, and return the response of the receiver", async () => {
    const id = await addLocal();
    expect((await post(id, "test")).json).toMatchObject({ status: 200, fault: null, milliseconds: expect.any(Number) });
    receiver.respond(500);
    expect((await post(id, "test")).json).toMatchObject({ status: 500, fault: expect.any(String) });
  });

  test("list their deliveries with status and time", async () => {
    const id = await addLocal();
    expect((await anna.call("GET", `${webhooks}/${id}/deliveries`)).json).toEqual({ deliveries: [], exchanges: 20 });
    await anna.call("POST", brands, { Name: "Acme" });
    await receiver.received(1, ({ body }) => body.includes("Acme"));
    const delivered = await waitUntil(async () => {
      const { deliveries } = (await anna.call("GET", `${webhooks}/${id}/deliveries`)).json;
      return deliveries.length > 0 && deliveries;
    }, "the delivery");
    expect(delivered).toMatchObject([{ status: 200, fault: null, at: expect.stringMatching(/^\d{4}-.*Z$/) }]);
  });

  test("show the request and the response of an attempt, without secrets", async () => {
    const { webhook: id, secret } = await createTestWebhook(server.engine, server.site.ID, receiver.url);
    receiver.respond((response) => {
      response.setHeader("Set-Cookie", "session=hunter2");
      response.writeHead(500, { "X-Long": "x".repeat(9000) }).end(`${"é".repeat(5000)}`);
    });
    await post(id, "test");
    receiver.respond((response) => void response.writeHead(200).end(Buffer.from([0, 255, 16])));
    await post(id, "test");
    const exchangeOf = (number: number) => anna.call("GET", `${webhooks}/${id}/deliveries/${number}`);
    const failed = await exchangeOf(1);
    expect(failed.json).toMatchObject({ url: receiver.url, request: { isText: true, bytes: expect.any(Number) } });
    const { request, response } = failed.json;
    expect(JSON.parse(request.body)).toMatchObject({ type: "storefront.test" });
    const sent = Object.fromEntries(request.headers);
    expect(sent["webhook-signature"]).toMatch(/^v1,.{8}\.\.\.$/);
    expect(receiver.events[receiver.events.length - 2]?.headers["webhook-signature"]).toStartWith(
      sent["webhook-signature"].slice(0, -3),
    );
    expect([response.isText, response.bytes, Buffer.byteLength(response.body)]).toEqual([true, 10_000, 8192]);
    expect(JSON.stringify(response.headers).length).toBeLessThan(8500);
    for (const hidden of [secret, secret.slice(6), "hunter2"]) expect(failed.text).not.toContain(hidden);
    expect((await exchangeOf(2)).json.response).toMatchObject({ body: "00ff10", isText: false, bytes: 3 });
    for (const number of ["3", "0", "x"]) expect((await exchangeOf(number as unknown as number)).status).toBe(404);
  });

  test("show an operator who may only look no secret of their URLs, also where a response repeats it", async () => {
    const [token, path] = ["t0ken value", "aB3dE5fG7hI9jK1lM3nO5pQ7"];
    const secretUrl = `${receiver.url}/${path}?token=${encodeURIComponent(token)}&plain&page=2`;
    const { webhook: id } = await createTestWebhook(server.engine, server.site.ID, secretUrl);
    receiver.respond((response) => void response.writeHead(404).end(`nothing at ${secretUrl}, ${token}`));
    await post(id, "test");
    const rita = await server.signIn("rita", [], "viewer");
    const reads = ["/webhooks", `/webhooks/${id}/deliveries`, `/webhooks/${id}/deliveries/1`, "/overview"];
    const texts = await Promise.all(reads.map(async (one) => (await rita.call("GET", `/sites/shop${one}`)).text));
    for (const text of texts)
      for (const hidden of [token, encodeURIComponent(token), path, "plain"]) expect(text).not.toContain(hidden);
    const shown = `${receiver.url}/...?token=...&...&page=...`;
    expect(JSON.parse(texts[0] ?? "").webhooks[0].url).toBe(shown);
    expect(JSON.parse(texts[2] ?? "")).toMatchObject({
      url: shown,
      response: { body: "nothing at ".concat(shown.replace("page=...", "page=2"), ", ...") },
    });
    expect(JSON.parse(texts[3] ?? "").webhooks[0].url).toBe(shown);
    expect((await list())[0].url).toBe(secretUrl);
  });

  const utf16 = (text: string) => Buffer.from(text, "utf16le");
  test.each<[string, (token: string) => string | Buffer]>([
    ["percent-encoding in lower case", (token) => encodeURIComponent(token).toLowerCase()],
    ["every character percent-encoded", (token) => `x${Buffer.from(token).toString("hex").replace(/../g, "%$&")}`],
    ["percent-encoding twice", (token) => encodeURIComponent(encodeURIComponent(token))],
    ["a form", (token) => new URLSearchParams({ token }).toString()],
    ["JSON", (token) => JSON.stringify({ token }).replaceAll("/", "\\/").replace("é", "\\u00e9")],
    ["numbers of HTML", (token) => [...token].map((one) => `&#${one.charCodeAt(0)};`).join("")],
    ["names of HTML", (token) => token.replace("&", "&amp;").replace("é", "&#xE9;")],
    ["UTF-16", utf16],
    ["the beginning, where the kept part ends", (token) => "x".repeat(8192 - 7) + token],
  ])("show no secret of their URLs that a response repeats in another encoding: %s", async (_, encode) => {
    const token = "s3cr3t/é & key=9";
    const { webhook: id } = await createTestWebhook(
      server.engine,
      server.site.ID,
      `${receiver.url}/x?token=${encodeURIComponent(token)}`,
    );
    receiver.respond((response) => void response.writeHead(404).end(encode(token)));
    await post(id, "test");
    const rita = await server.signIn("rita", [], "viewer");
    const { text } = await rita.call("GET", `/sites/shop/webhooks/${id}/deliveries/1`);
    const { body, bytes } = JSON.parse(text).response;
    expect(bytes).toBeGreaterThan(15);
    expect(body).toEndWith("...");
    for (const part of ["s3cr3t", "key=9", utf16("s3cr3t").toString("hex"), "3cr", "%73%33", "&#115;"])
      expect(body).not.toContain(part);
  });

  test("say why the last delivery failed, and are retried before the time of the next attempt", async () => {
    receiver.respond(503);
    const id = await addLocal();
    await anna.call("POST", brands, { Name: "Acme" });
    await waitUntil(async () => (await list())[0].status === "failing", "the failed delivery");
    expect((await list())[0]).toMatchObject({
      reason: "the receiver responded with 503",
      last: { number: 1, status: 503 },
      nextAt: expect.any(String),
    });
    const [{ cursor } = { cursor: "" }] = await server.engine.readWebhookStates([
      { site: server.site.ID, webhook: id },
    ]);
    await server.engine.compareAndSetWebhook(
      { site: server.site.ID, webhook: id },
      { cursor, rewinds: 0, resumes: 0 },
      {
        nextAt: Date.now() + 3_600_000,
      },
    );
    const early = await post(id, "retry");
    expect([early.status, early.headers.has("Retry-After")]).toEqual([429, true]);
    receiver.respond(200);
    await retryWebhook(server.engine, id, Date.now() + 6000);
    await waitUntil(async () => (await list())[0].status === "active", "the delivery");
    expect((await list())[0]).toMatchObject({ reason: null, behind: 0, nextAt: null });
    expect((await post(id, "retry")).status).toBe(200);
  });

  test("get another URL, which gets the changes of an attempt that was in flight to the earlier one", async () => {
    const id = await addLocal();
    const another = await startReceiver();
    const waiting = Promise.withResolvers<ServerResponse>();
    receiver.respond((response) => waiting.resolve(response));
    await anna.call("POST", brands, { Name: "Moved" });
    const response = await waiting.promise;
    await changeWebhookUrl(server.engine, id, another.url, toDeliveryPolicy([]), Date.now());
    response.end();
    const [event] = await another.received(1, ({ body }) => body.includes("Moved"));
    expect(event?.headers["webhook-id"]).toBe(receiver.events.at(-1)?.headers["webhook-id"] as string);
    await waitUntil(async () => (await list())[0].behind === 0, "the delivery");
    expect((await list())[0].url).toBe(another.url);
    await another.stop();
    expect((await anna.call("PATCH", `${webhooks}/${id}`, { url: "http://localhost:1/" })).status).toBe(400);
    const changed = await anna.call("PATCH", `${webhooks}/${id}`, { url: `${url}/new` });
    expect(changed.json).toMatchObject({ url: `${url}/new`, isResolved: true });
  });

  test("are paused, resumed, and rewound to a time", async () => {
    const id = await addLocal();
    expect((await post(id, "pause")).json).toMatchObject({ status: "paused", paused: expect.any(String) });
    await anna.call("POST", brands, { Name: "While paused" });
    expect(await list()).toMatchObject([{ status: "paused", behind: 1 }]);
    expect((await post(id, "resume")).json).toMatchObject({ status: "active", paused: null });
    const hasChange = ({ body }: { readonly body: string }) => body.includes("While paused");
    await receiver.received(1, hasChange);
    await waitUntil(async () => (await list())[0].behind === 0, "the delivery");
    expect((await post(id, "rewind", { since: { time: "2020-01-01T00:00:00Z" } })).status).toBe(200);
    await receiver.received(2, hasChange);
    expect((await post(id, "rewind", { since: { time: "x" } })).status).toBe(400);
  });

  test("get a new secret, and return the time until which the old secret is used too", async () => {
    const { json } = await anna.call("POST", webhooks, { url });
    const rotated = (await post(json.id, "rotate")).json;
    expect(rotated.secret).toStartWith("whsec_");
    expect(rotated.secret).not.toBe(json.secret);
    expect(Date.parse(rotated.until)).toBeGreaterThan(Date.now());
  });

  test("of another site are not found", async () => {
    await createSite(server.engine, "toys", {}, 1);
    const { id } = (await anna.call("POST", "/sites/toys/webhooks", { url })).json;
    expect(await list()).toEqual([]);
    for (const action of ["test", "pause", "resume", "retry", "rotate", "rewind"])
      expect([action, (await post(id, action)).status]).toEqual([action, 404]);
    expect((await anna.call("DELETE", `${webhooks}/${id}`)).status).toBe(404);
    for (const path of ["/deliveries", "/deliveries/1"])
      expect((await anna.call("GET", `${webhooks}/${id}${path}`)).status).toBe(404);
    expect((await anna.call("PATCH", `${webhooks}/${id}`, { url })).status).toBe(404);
    expect((await anna.call("GET", "/sites/toys/webhooks")).json.webhooks).toMatchObject([{ status: "active" }]);
  });
});
