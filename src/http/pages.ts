// Serves what describes the interface (`reference/`). `documentation.ts` loads this file after the start.

import { statusOf } from "../formats/status.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { type Refusal, refusals } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { servedFiles } from "../reference/documents.ts";
import { requestFiles } from "../reference/downloads.ts";
import { homePage } from "../reference/pages/home.ts";
import { htmlType, pagePolicy } from "../reference/pages/layout.ts";
import { problemPage } from "../reference/pages/problem-page.ts";
import type { WireResponse } from "../wire/response.ts";
import type { Exchange } from "./exchange.ts";
import { toResponse } from "./responses.ts";
import { serveFile, serveMade } from "./static-content.ts";

type Respond = (exchange: Exchange) => MaybePromise<WireResponse>;

/** A function that responds, for each path; where a query chooses between documents, for each path and query. @param addressOf the address at which the client reached the server */
export function createPages(
  resources: readonly Resource[],
  addressOf: (exchange: Exchange) => string,
): ReadonlyMap<string, Respond> {
  const files = [...servedFiles(resources)].map(([path, file]): [string, Respond] => [path, serveFile(file)]);
  const home = (address: string) => ({ type: htmlType, text: homePage(resources, address) });
  const made = [["/", home] as const, ...requestFiles].map(([path, make]): [string, Respond] => [
    path,
    (exchange) => serveMade(exchange, make(addressOf(exchange)), "X-Forwarded-Proto"),
  ]);
  return new Map([...made, ...files]);
}

/** The problem as a page, for browsers. */
export function toProblemPage(exchange: Exchange, refusal: Refusal): WireResponse {
  const body = problemPage({
    status: statusOf(refusal.code),
    title: refusals[refusal.code],
    detail: refusal.message,
    instance: String(exchange.id),
    type: `/docs/problems/${refusal.code}`,
  });
  const headers = { ...refusal.headers, "Content-Security-Policy": pagePolicy, Vary: "Accept" };
  return toResponse(exchange, statusOf(refusal.code), { type: htmlType, body }, headers);
}
