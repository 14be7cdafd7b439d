// `verifyWebhook` tells genuine requests from forged ones. Signatures come from the server and from an independent library.

import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { StorefrontWebhookError, verifyWebhook, type WebhookEvent } from "../../src/client/client.ts";
import { signatureHeaders } from "../../src/webhooks/webhook-event.ts";

const secretOf = (fill: string) => `whsec_${btoa(fill.repeat(32))}`;
const [secret, oldSecret, otherSecret] = [secretOf("n"), secretOf("o"), secretOf("x")];
const event = {
  type: "storefront.changes",
  timestamp: "2026-11-21T20:15:00.123Z",
  data: { Site: "shop", Since: "a.17", Changes: [], Next: "a.19" },
};
// Nobody would serialize it this way again, so this shows that the signature covers these very bytes.
const body = JSON.stringify(event, null, 1).replace("shop", "sh\\u00f6p å");
const id = "evt_1_a_18_19";

interface Delivery {
  readonly body: string;
  readonly headers: Record<string, string>;
}

function sign(text: string, secrets: readonly string[], ageMs = 0): Delivery {
  const at = new Date(Date.now() - ageMs);
  const signatures = secrets.map((each) => new Webhook(each).sign(id, at, text));
  const headers = { "webhook-id": id, "webhook-timestamp": String(Math.floor(at.getTime() / 1000)) };
  return { body: text, headers: { ...headers, "webhook-signature": signatures.join(" ") } };
}

const withHeader = ({ body: text, headers }: Delivery, name: string, value: string): Delivery => ({
  body: text,
  headers: { ...headers, [name]: value },
});
const toRequest = ({ body: text, headers }: Delivery) =>
  new Request("http://erp.example/", { method: "POST", body: text, headers });

const reasonOf = (work: Promise<WebhookEvent>) =>
  work.then(
    ({ type }) => type,
    (error: unknown) => (error instanceof StorefrontWebhookError ? `${error.status} ${error.reason}` : error),
  );

const genuine: [string, () => Parameters<typeof verifyWebhook>][] = [
  ["a request", () => [toRequest(sign(body, [secret])), secret]],
  ["text and plain headers", () => [sign(body, [secret]), [secret]]],
  ["bytes", () => [{ ...sign(body, [secret]), body: Buffer.from(body) }, [secret]]],
  ["an ArrayBuffer", () => [{ ...sign(body, [secret]), body: new TextEncoder().encode(body).buffer }, [secret]]],
  ["Headers", () => [{ body, headers: new Headers(sign(body, [secret]).headers) }, [secret]]],
  [
    "names in another case, and values in lists",
    () => {
      const entries = Object.entries(sign(body, [secret]).headers).map(([name, value]) => [
        name.toUpperCase(),
        [value],
      ]);
      return [{ body, headers: Object.fromEntries(entries) }, [secret]];
    },
  ],
  [
    "a request signed with two secrets, one of them known",
    () => [toRequest(sign(body, [secret, oldSecret])), oldSecret],
  ],
  ["a request signed with one of the known secrets", () => [toRequest(sign(body, [oldSecret])), [secret, oldSecret]]],
  ["a secret with a line break, as from a file", () => [toRequest(sign(body, [secret])), `${secret}\n`]],
  ["a request four minutes late", () => [toRequest(sign(body, [secret], 240_000)), secret]],
  [
    "a later request, if the tolerance allows it",
    () => [toRequest(sign(body, [secret], 3e6)), secret, { tolerance: 4e6 }],
  ],
  [
    "a signature among those of later versions",
    () => {
      const valid = sign(body, [secret]);
      return [withHeader(valid, "webhook-signature", `v2,x v1a,y ${valid.headers["webhook-signature"]}`), secret];
    },
  ],
];
test.each(genuine)("%s is accepted", async (_, make) => {
  expect(await verifyWebhook(...make())).toEqual({ ...event, data: { ...event.data, Site: "shöp å" }, id } as never);
});

const valid = sign(body, [secret]);
const signature = valid.headers["webhook-signature"] as string;
const forged: [string, Delivery, string][] = [
  ["another secret", sign(body, [otherSecret]), "401 signature"],
  ["another body", { ...valid, body: body.replace("17", "18") }, "401 signature"],
  ["the same JSON in other bytes", { ...valid, body: JSON.stringify(event) }, "401 signature"],
  ["another ID", withHeader(valid, "webhook-id", "evt_2"), "401 signature"],
  ["another time", withHeader(valid, "webhook-timestamp", String(Math.floor(Date.now() / 1000) - 9)), "401 signature"],
  ["no ID", withHeader(valid, "webhook-id", ""), "401 signature"],
  ["a time six minutes ago", sign(body, [secret], 360_000), "401 timestamp"],
  ["a time in six minutes", sign(body, [secret], -360_000), "401 timestamp"],
  ["text that is not JSON", sign("{", [secret]), "400 unreadable"],
  ["JSON that is not an event", sign("null", [secret]), "400 unreadable"],
  ["a body that is too large", { ...valid, body: "x".repeat(5_000_001) }, "413 too-large"],
  ...["", "v1", "v1,", "v1,?", `${signature}=`, signature.slice(0, -8), signature.slice(3), "v1,AAAA"].map(
    (text): [string, Delivery, string] => [
      `the signature ${JSON.stringify(text)}`,
      withHeader(valid, "webhook-signature", text),
      "401 signature",
    ],
  ),
  ...["", "NaN", "-1", "9".repeat(400), "1e9"].map((text): [string, Delivery, string] => [
    `the time ${JSON.stringify(text.slice(0, 9))}`,
    withHeader(valid, "webhook-timestamp", text),
    "401 timestamp",
  ]),
];
describe.each(forged)("a delivery with %s", (_, delivery, reason) => {
  test("is rejected as a request, and as a body with headers", async () => {
    expect(await reasonOf(verifyWebhook(toRequest(delivery), [secret, oldSecret]))).toBe(reason);
    expect(await reasonOf(verifyWebhook(delivery, [secret, oldSecret]))).toBe(reason);
  });
});

test("an oversized body of unknown length isn't read to its end", async () => {
  let chunks = 0;
  const stream = new ReadableStream({
    pull(controller) {
      chunks++;
      controller.enqueue(new Uint8Array(1_000_000));
    },
  });
  const request = new Request("http://erp.example/", { method: "POST", body: stream, headers: valid.headers });
  expect(await reasonOf(verifyWebhook(request, secret))).toBe("413 too-large");
  expect(chunks).toBeLessThan(10);
});

test("this server's signatures are accepted, before and after the secret changes", async () => {
  const headers = signatureHeaders(id, Date.now(), body, [secret, oldSecret]);
  for (const known of [secret, oldSecret]) expect((await verifyWebhook({ body, headers }, known)).id).toBe(id);
  expect(await reasonOf(verifyWebhook({ body, headers }, otherSecret))).toBe("401 signature");
});

// biome-ignore lint/suspicious/noExplicitAny: JavaScript callers can pass anything
const mistakes: [string, any[]][] = [
  ["no secret", [valid, undefined]],
  ["an empty list of secrets", [valid, []]],
  ["an empty secret", [valid, "whsec_"]],
  ["a secret without its prefix", [valid, secret.slice(6)]],
  ["a secret that is not base64", [valid, "whsec_???"]],
  ["a parsed body", [{ ...valid, body: event }, secret]],
  ["no body", [{ headers: valid.headers }, secret]],
  ["an unknown option", [valid, secret, { toleranceSeconds: 300 }]],
  ["an invalid tolerance", [valid, secret, { tolerance: -1 }]],
];
test.each(mistakes)("%s throws a TypeError that doesn't contain the secret", async (_, parameters) => {
  const [request, secrets, options] = parameters;
  const error = await verifyWebhook(request, secrets, options).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(TypeError);
  expect(error.message).not.toContain(secret.slice(6));
});

test("an event's type determines the type of its data", async () => {
  const received = await verifyWebhook(valid, secret);
  if (received.type !== "storefront.changes") throw new Error("another type");
  for (const change of received.data.Changes) if (change.Resource === "brands") change.Record?.AccountNumber.length;
  // @ts-expect-error: it may be a test event, which has no changes
  (received as WebhookEvent).data.Changes;
  expect(received.data.Since).toBe("a.17");
});
