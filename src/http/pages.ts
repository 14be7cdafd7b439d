// What describes the interface, for programs and for people, and what the pages load. All of it comes from this program.

import { statusOf } from "../formats/status.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { type Refusal, refusals } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { describingDocuments } from "../reference/documents.ts";
import { homePage } from "../reference/pages/home.ts";
import { problemPage } from "../reference/pages/problem-page.ts";
import { renderPages } from "../reference/pages/render.ts";
import { referencePage, referencePolicy, referenceScript, scalar } from "../reference/pages/scalar.ts";
import { pageScript } from "../reference/pages/shell.ts";
import type { WireResponse } from "../wire/response.ts";
import { noneMatchHits } from "./conditional.ts";
import type { Exchange } from "./exchange.ts";
import { serveFixed, shortDigest } from "./fixed.ts";
import { toCacheableResponse, toResponse } from "./responses.ts";

type Answer = (exchange: Exchange) => MaybePromise<WireResponse>;

const html = "text/html; charset=utf-8";
const javascript = "text/javascript; charset=utf-8";

/** A page has styles of its own and loads nothing but its script. */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The answers that describe the interface, by path. @param addressOf the address by which the client reached the server */
export function referencePages(
  resources: readonly Resource[],
  addressOf: (exchange: Exchange) => string,
): Map<string, Answer> {
  const answers = new Map<string, Answer>([
    ["/", home(resources, addressOf)],
    ["/docs", page(() => referencePage, referencePolicy)],
    ["/docs/assets/page.js", serveFixed({ type: javascript, make: () => pageScript })],
    ["/docs/assets/reference.js", serveFixed({ type: javascript, make: () => referenceScript })],
    [scalar.path, serveFixed({ type: javascript, make: () => Bun.file(scalar.file).bytes(), isVersioned: true })],
  ]);
  for (const [path, render] of renderPages()) answers.set(path, page(render, pagePolicy));
  for (const [path, document] of describingDocuments(resources)) answers.set(path, serveFixed(document));
  return answers;
}

/** What a browser is shown in place of the problem. */
export function toProblemPage(exchange: Exchange, refusal: Refusal): WireResponse {
  const content = problemPage({
    status: statusOf(refusal.code),
    title: refusals[refusal.code],
    detail: refusal.message,
    instance: exchange.id,
    type: `/docs/problems/${refusal.code}`,
  });
  const headers = { ...refusal.headers, "Content-Security-Policy": pagePolicy, Vary: "Accept" };
  return toResponse(exchange, statusOf(refusal.code), { type: html, body: content }, headers);
}

function page(make: () => string, policy: string): Answer {
  return serveFixed({ type: html, make, headers: { "Content-Security-Policy": policy } });
}

/** It shows the address that the client used, so it is made for each. */
function home(resources: readonly Resource[], addressOf: (exchange: Exchange) => string): Answer {
  return (exchange) => {
    const body = homePage(resources, addressOf(exchange));
    const tagged = {
      "Cache-Control": "public, no-cache",
      Vary: "X-Forwarded-Proto",
      ETag: `"${shortDigest(body)}"`,
    };
    const known = exchange.request.headers.get("if-none-match");
    if (known !== null && noneMatchHits(known, tagged.ETag)) return toCacheableResponse(exchange, 304, null, tagged);
    const headers = { ...tagged, "Content-Type": html, "Content-Security-Policy": pagePolicy };
    return toCacheableResponse(exchange, 200, body, headers);
  };
}
