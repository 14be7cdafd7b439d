// What needs neither a site nor a key: health, metrics, and pages for people.

import { Refusal } from "../model/errors.ts";
import type { Maybe } from "../model/maybe.ts";
import type { Reply } from "../wire/reply.ts";
import type { Exchange } from "./exchange.ts";
import type { Metrics } from "./metrics.ts";
import { once } from "./once.ts";
import type { HttpParts } from "./parts.ts";
import { createReadiness } from "./readiness.ts";
import { reply } from "./reply.ts";

const plain = "text/plain; charset=utf-8";

type Answer = (exchange: Exchange) => Maybe<Reply>;

/** Where the interface is described. Much code does that, so it is loaded when somebody looks, not at every start. */
const describing = /^\/(?:$|docs(?:\/|$)|openapi\.|schemas\/)/;

export function createStaticAnswers({ engine, resources, now }: HttpParts, metrics: Metrics) {
  const ready = createReadiness(engine, now);
  const answers = new Map<string, Answer>([
    ["/healthz", (exchange) => send(exchange, plain, "ok\n")],
    ["/readyz", (exchange) => ready().then(() => send(exchange, plain, "ready\n"))],
    ["/metrics", async (exchange) => send(exchange, "text/plain; version=0.0.4; charset=utf-8", await metrics.text())],
  ]);
  const describe = once(async () => (await import("./pages.ts")).describingAnswers(resources));
  async function describeInterface(exchange: Exchange): Promise<Reply> {
    const answer = (await describe()).get(exchange.target.path);
    if (!answer) throw new Refusal("not-found", "there is no such page; `/docs/guide` lists those that there are");
    return answer(exchange);
  }
  return {
    /** The answer to `exchange`, if one of these paths is asked for. */
    find(exchange: Exchange): Maybe<Reply> | undefined {
      const { path } = exchange.target;
      const answer = answers.get(path) ?? (describing.test(path) ? describeInterface : undefined);
      if (!answer) return undefined;
      const { method } = exchange.request;
      if (method === "GET" || method === "HEAD") return answer(exchange);
      const headers = { Allow: "GET, HEAD" };
      throw new Refusal("method-not-allowed", "this page can only be read", { headers });
    },
  };
}

function send(exchange: Exchange, type: string, body: string): Reply {
  return reply(exchange, 200, { type, body });
}
