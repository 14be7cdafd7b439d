// Webhooks of a server, delivered to receivers on this machine.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { type ReceivedEvent, startReceiver, type TestReceiver } from "./support/receiver.ts";
import { startTestServer, type TestServer } from "./support/server.ts";
import { putTestWebhook } from "./support/test-webhook.ts";

let server: TestServer;
let receiver: TestReceiver;
beforeAll(async () => {
  server = await startTestServer();
  receiver = await startReceiver();
});
afterAll(async () => {
  await server.stop();
  await receiver.stop();
});

const dataOf = (event: ReceivedEvent | undefined) => JSON.parse(event?.body ?? "").data;

describe("a webhook", () => {
  test("gets the changes of its site, signed, in order, in pages of at most 100", async () => {
    const names = Array.from({ length: 250 }, (_, i) => `Brand ${i}`);
    for (const Name of names) await server.call("POST", "/restapi/brands.json", { body: { Name } });
    await server.call("DELETE", "/restapi/brands/7.json");
    const { webhook, secret } = await putTestWebhook(server.engine, server.site.ID, receiver.url);
    const events = await receiver.received(3);
    const changes = events.flatMap((event) => {
      const verified = new Webhook(secret).verify(event.body, { ...event.headers }) as { type: string };
      expect(verified.type).toBe("storefront.changes");
      expect(dataOf(event).Site).toBe("shop");
      return dataOf(event).Changes;
    });
    expect(events.map((event) => dataOf(event).Changes.length)).toEqual([100, 100, 51]);
    expect(changes.slice(0, 250).map(({ Record }) => Record.Name)).toEqual(names);
    expect(changes[250]).toMatchObject({ Operation: "delete", Resource: "brands", ID: 7, Record: null });
    const [state] = await server.engine.webhookStates();
    const id = `evt_${webhook}_${state?.epoch}_`;
    expect(events.map(({ headers }) => headers["webhook-id"])).toEqual([`${id}1_100`, `${id}101_200`, `${id}201_251`]);
  });
});
