// A delivery's signature (src/webhooks/webhook-event.ts): which secrets, times and headers are accepted.

import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { signatureHeaders } from "../../../src/webhooks/webhook-event.ts";

const makeSecret = () => `whsec_${randomBytes(32).toString("base64")}`;

describe("delivery signature", () => {
  test.each([
    ["without members", "{}"],
    ["with characters of several bytes", '{"Name":"Ünï ☂ 😀"}'],
    ["of a million bytes", JSON.stringify("x".repeat(1_000_000))],
  ])("accepted by an independent verifier, for a body %s", (_, body) => {
    const secret = makeSecret();
    const headers = signatureHeaders("evt_1_abc_1_100", Date.now(), body, [secret]);
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  });

  test("accepted with either of two secrets", () => {
    const secrets = [makeSecret(), makeSecret()];
    const headers = signatureHeaders("evt_1", Date.now(), "{}", secrets);
    for (const secret of secrets) expect(new Webhook(secret).verify("{}", headers)).toEqual({});
  });

  const secret = makeSecret();
  const now = Date.now();
  const headers = signatureHeaders("evt_1", now, '{"a":1}', [secret]);

  test.each<[string, string, Record<string, string>, string]>([
    ["another secret", '{"a":1}', headers, makeSecret()],
    ["another body", '{"a":2}', headers, secret],
    ["another ID", '{"a":1}', { ...headers, "webhook-id": "evt_2" }, secret],
    ["another time", '{"a":1}', { ...headers, "webhook-timestamp": String(Math.floor(now / 1000) + 1) }, secret],
    ["a time of ten minutes ago", '{"a":1}', signatureHeaders("evt_1", now - 600_000, '{"a":1}', [secret]), secret],
  ])("rejected with %s", (_, body, sent, verifying) => {
    expect(() => new Webhook(verifying).verify(body, sent)).toThrow();
  });

  test("matches the specification's example", () => {
    const { "webhook-signature": signature } = signatureHeaders(
      "msg_p5jXN8AQM9LWM0D4loKWxJek",
      1_614_265_330_000,
      '{"test": 2432232314}',
      ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    );
    expect(signature).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });
});
