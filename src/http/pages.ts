// What describes the interface, for programs and for people, and what the pages load. All of it comes from this program.

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { homePage } from "../docs/home.ts";
import { referencePage, referencePolicy, referenceScript, scalar } from "../docs/reference.ts";
import { renderPages } from "../docs/render.ts";
import { pageScript } from "../docs/shell.ts";
import type { Maybe } from "../model/maybe.ts";
import type { Resource } from "../model/resource.ts";
import { type Reply, toLines } from "../wire/reply.ts";
import { describingDocuments, type TextDocument } from "./documents.ts";
import type { Exchange } from "./exchange.ts";
import { once } from "./once.ts";
import { reply } from "./reply.ts";

type Answer = (exchange: Exchange) => Maybe<Reply>;

const javascript = "text/javascript; charset=utf-8";

/** A page has styles of its own and loads nothing but its script. */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The answers that describe the interface, by path. */
export function describingAnswers(resources: readonly Resource[]): Map<string, Answer> {
  const answers = new Map<string, Answer>([
    ["/", page(() => homePage(resources), pagePolicy)],
    ["/docs", page(() => referencePage, referencePolicy)],
    ["/docs/assets/page.js", script(pageScript)],
    ["/docs/assets/reference.js", script(referenceScript)],
    [scalar.path, scalarAnswer()],
  ]);
  for (const [path, render] of renderPages()) answers.set(path, page(render, pagePolicy));
  for (const [path, make] of describingDocuments(resources)) answers.set(path, document(make));
  return answers;
}

function document(make: () => TextDocument): Answer {
  return (exchange) => {
    const { type, text } = make();
    return reply(exchange, 200, { type, body: text });
  };
}

function page(render: () => string, policy: string): Answer {
  const html = once(render);
  const type = "text/html; charset=utf-8";
  return (exchange) => reply(exchange, 200, { type, body: html() }, { "Content-Security-Policy": policy });
}

function script(text: string): Answer {
  return (exchange) => reply(exchange, 200, { type: javascript, body: text });
}

/** Its path names its version, so unlike all else it may be kept. It is compressed once, off this thread. */
function scalarAnswer(): Answer {
  const compressed = once(async () => promisify(gzip)(await Bun.file(scalar.file).bytes()));
  return async ({ id, request }) => {
    const headers = {
      "Content-Type": javascript,
      "Cache-Control": "public, max-age=31536000, immutable",
      Vary: "Accept-Encoding",
      "X-Request-Id": id,
    };
    const accepted = request.fields.get("accept-encoding") ?? "";
    if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(accepted))
      return { status: 200, headers: toLines(headers), body: await Bun.file(scalar.file).bytes() };
    return { status: 200, headers: toLines({ ...headers, "Content-Encoding": "gzip" }), body: await compressed() };
  };
}
