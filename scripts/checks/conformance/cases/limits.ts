// Contract section 9: limits.

import { casesOf } from "../case.ts";

const { both, once } = casesOf(9);

export const limitCases = [
  both(
    "Requests per key",
    "every response has RateLimit and RateLimit-Policy, and a 429 has Retry-After",
    async (shop) => {
      const key = shop.need("limitedKey");
      for (let requests = 0; requests < 1000; requests++) {
        const answer = await shop.call("GET", "orderstatuses?limit=1", { key });
        shop.status(answer, 200, 429);
        for (const name of ["RateLimit", "RateLimit-Policy"]) shop.header(answer, name, /./);
        if (answer.status === 200) continue;
        shop.problem(answer, 429, /too-many-requests/);
        shop.header(answer, "Retry-After", /^[1-9]\d*$/);
        return;
      }
      shop.fail(undefined, "429 for one of 1000 requests");
    },
  ),
  both("Headers can be up to 16 KiB", "a longer header section gets a 431", async (shop) => {
    const answer = await shop.firstOfBytes([
      `GET /restapi/orderstatuses.${shop.format} HTTP/1.1`,
      "Host: $HOST",
      `X-Padding: ${"x".repeat(17 * 1024)}`,
    ]);
    shop.status(answer, 431);
  }),
  both("It gets an empty page", "a long poll returns early when the client stops sending", async (shop) => {
    const now = await shop.call("GET", "changes?since=now");
    const cursor = /Next"?[=:]\s*"([^"]+)"/.exec(now.text)?.[1] ?? "";
    const before = Date.now();
    const [answer] = await shop.bytes(
      [
        `GET /restapi/changes.${shop.format}?since=${cursor}&wait=9&resource=locations HTTP/1.1`,
        "Host: $HOST",
        "X-API-AUTH: $KEY",
      ],
      "",
      { end: true },
    );
    if (!answer) return shop.fail(undefined, "an empty page");
    shop.status(answer, 200);
    shop.holds(answer, "an empty page", !/<Change |"Cursor"/.test(answer.text));
    shop.holds(answer, "the response before `wait` is over", Date.now() - before < 8_000);
  }),
  once("Fairness: clients don't delay", "pipelined requests get their responses in order", async (shop) => {
    const line = (path: string) => [`GET /restapi/${path} HTTP/1.1`, "Host: $HOST", "X-API-AUTH: $KEY"].join("\r\n");
    const paths = ["orderstatuses.json?limit=1", "nothing.json", "brands.xml?limit=1"];
    const answers = await shop.bytes([paths.map(line).join("\r\n\r\n")], "", { count: 3 });
    const last = answers.at(-1) ?? shop.fail(undefined, "three responses");
    shop.same(
      last,
      "the statuses",
      answers.map(({ status }) => status),
      [200, 404, 200],
    );
    shop.header(last, "Content-Type", "application/xml; charset=utf-8");
  }),
];
