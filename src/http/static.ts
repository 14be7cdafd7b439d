// What needs neither a site nor a key: health, metrics, and pages for people.

import { Refusal } from "../model/errors.ts";
import { after, type Maybe } from "../model/maybe.ts";
import { describingDocuments } from "./documents.ts";
import type { Exchange } from "./exchange.ts";
import type { Metrics } from "./metrics.ts";
import { pageAnswers } from "./pages.ts";
import { reply } from "./reply.ts";
import type { HttpParts } from "./server.ts";

const plain = "text/plain; charset=utf-8";

type Answer = (exchange: Exchange) => Maybe<Response>;

export function createStaticAnswers({ engine, resources }: HttpParts, metrics: Metrics) {
  const answers = new Map<string, Answer>([
    ["/healthz", (exchange) => send(exchange, plain, "ok\n")],
    ["/readyz", (exchange) => after(engine.heads([0]), () => send(exchange, plain, "ready\n"))],
    ["/metrics", async (exchange) => send(exchange, metrics.contentType, await metrics.text())],
    ...pageAnswers(resources),
  ]);
  for (const [path, make] of describingDocuments(resources)) {
    answers.set(path, (exchange) => {
      const { type, text } = make();
      return send(exchange, type, text);
    });
  }
  return {
    /** The answer to `exchange`, if one of these paths is asked for. */
    find(exchange: Exchange): Maybe<Response> | undefined {
      const answer = answers.get(exchange.target.path);
      if (!answer) return undefined;
      const { method } = exchange.request;
      if (method === "GET" || method === "HEAD") return answer(exchange);
      const headers = { Allow: "GET, HEAD" };
      throw new Refusal("method-not-allowed", "this page can only be read", { headers });
    },
  };
}

function send(exchange: Exchange, type: string, body: string): Response {
  return reply(exchange, 200, body, { "Content-Type": type });
}
