// The conformance client (scripts/checks/conformance) catches server bugs, which a proxy in between introduces.

import { afterAll, describe, expect, test } from "bun:test";
import type { Format } from "../../../scripts/checks/conformance/records.ts";
import { runCases } from "../../../scripts/checks/conformance/run.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { getSite } from "../../../src/operator/sites/sites.ts";
import { startDemo } from "../../support/programs/demo-server.ts";
import {
  type Alteration,
  type ProxiedRequest,
  type ProxiedResponse,
  startAlteringProxy,
} from "../../support/wire/altering-proxy.ts";

const demo = await startDemo();
const proxy = startAlteringProxy(demo.url);
const rights = ["read", "webhooks:write"];
const webhookKey = (await createKey(demo.engine, await getSite(demo.engine, "demo"), { rights }, Date.now())).key;
afterAll(async () => {
  await proxy.stop();
  await demo.stop();
});

const onResponse = (response: Alteration["response"] & {}): Alteration => ({ response });
const onRequest = (request: Alteration["request"] & {}): Alteration => ({ request });
const isList = ({ method, path }: ProxiedRequest) => method === "GET" && /^\/restapi\/\w+\.(json|xml)$/.test(path);

/** Each bug, part of the title of the case that must catch it, and how the proxy introduces it. */
const faults: readonly (readonly [fault: string, title: string, alteration: () => Alteration, format?: Format])[] = [
  [
    "304 without ETag",
    "If-None-Match gets a 304",
    () => onResponse((r) => r.status === 304 && r.headers.delete("ETag")),
  ],
  ["304 for a list that has changed", "If-None-Match gets a 304", staleTag],
  ["410 instead of 404", "200 with the record, or a 404", () => onResponse(swapStatus(404, 410))],
  ["404 instead of 410", "a cursor ahead of the feed", () => onResponse(swapStatus(410, 404))],
  ["no Location", "the stored record and its Location", () => onResponse(({ headers }) => headers.delete("Location"))],
  ["rounded revisions", "Revision is at least 1", () => onResponse(replaceBody(/(?<="Revision":)(\d*)\d/g, "$10"))],
  [
    "members in another order",
    "the declared fields",
    () => onResponse(replaceBody(/("Name":"[^"]*"),("AccountNumber":"[^"]*")/g, "$2,$1")),
  ],
  [
    "another charset",
    "headers of interface 4.5",
    () => onResponse(({ headers }) => headers.set("Content-Type", "application/json; charset=iso-8859-1")),
  ],
  ["a list from before the write", "show a write at once", staleList],
  ["If-Match ignored", "412 if the record has changed", () => onRequest(({ headers }) => headers.delete("If-Match"))],
  [
    "Idempotency-Key ignored",
    "a repeated POST gets",
    () => onRequest(({ headers }) => headers.delete("Idempotency-Key")),
  ],
  ["a replay for another body", "path, query, body", replays],
  [
    "trimmed text",
    "returned exactly",
    () =>
      onRequest((r) => {
        r.body = r.body.replaceAll(/ +"/g, '"');
      }),
  ],
  [
    "a filter that is ignored",
    "a filter matches exactly",
    () =>
      onRequest((r) => {
        r.path = r.path.replace(/filter(\[|%5B)Name(\]|%5D)=[^&]*/, "_=");
      }),
  ],
  [
    "a dry run that stores",
    "gets the response the write would get",
    () => onRequest(replaceInPath("dryRun=1", "dryRun=0")),
  ],
  ["an unknown parameter that is ignored", "a 400 on writes", () => onRequest(replaceInPath("dry_run=1", "_=1"))],
  ["invalid UTF-8 that is replaced", "in names and in values", () => onRequest(replaceInPath("%E9", "%EF%BF%BD"))],
  [
    "a limit that is cut to its maximum",
    "limit is 1 to 1000",
    () =>
      onRequest((r) => {
        r.path = r.path.replace("limit=1001", "limit=1000");
      }),
  ],
  [
    "a change missing from the feed",
    "each add one change",
    () =>
      onResponse(replaceBody(/\{"Cursor":"[^"]*","Revision":\d+,"Time":"[^"]*","Operation":"update".*?\}\},?/g, "")),
  ],
  ["More: false before the end", "every change once", () => onResponse(replaceBody(/"More":true/g, '"More":false'))],
  [
    "a wait that returns at once",
    "waits for the next matching",
    () =>
      onRequest((r) => {
        r.path = r.path.replace(/&wait=20/, "");
      }),
  ],
  [
    "401 that doesn't say what is wrong",
    "a missing and a malformed key",
    () => onResponse(replaceBody(/"detail":"[^"]*X-API-AUTH[^"]*"/, '"detail":"no key"')),
  ],
  [
    "a weak ETag",
    "the ETag is strong",
    () => onResponse(({ headers }) => headers.set("ETag", `W/${headers.get("ETag")}`)),
  ],
  [
    "errors that may be cached",
    "is uncacheable",
    () =>
      onResponse((r) => {
        if (r.status >= 400) r.headers.set("Cache-Control", "max-age=60");
      }),
  ],
  [
    "another request ID in the problem",
    "with the request ID as its instance",
    () => onResponse(replaceBody(/"instance":"[^"]*"/, '"instance":"x"')),
  ],
  [
    "only the first error of a record",
    "all errors in a record",
    () => onResponse(replaceBody(/("errors":\[\{[^}]*\}).*\]/, "$1]")),
  ],
  [
    "a delete that returns nothing",
    "200 with the deleted record",
    () =>
      onResponse((r) => {
        if (r.request.method === "DELETE") r.body = "";
      }),
  ],
  [
    "a batch dry run that stores",
    "a dry run returns what would happen",
    () =>
      onRequest((r) => {
        r.path = r.path.replace("dryRun=1", "dryRun=0");
      }),
  ],
  [
    "wrong operation numbers in a batch's errors",
    "errors gives its number",
    () => onResponse(replaceBody(/"operation":2/g, '"operation":1')),
  ],
  [
    "changes of a batch request without their Run",
    "share a Run",
    () =>
      onResponse((r) => {
        if (r.request.path.includes("changes")) replaceBody(/,"Run":"[^"]*"/g, "")(r);
      }),
  ],
  [
    "an undo that does not say what it has skipped",
    "and lists it",
    () => onResponse(replaceBody(/"Skipped":\[.*\]/, '"Skipped":[]')),
  ],
  [
    "bearer tokens that are accepted everywhere",
    "only /mcp accepts a bearer token",
    () =>
      onRequest(({ headers }) => {
        const [, token] = /^Bearer (.+)$/.exec(headers.get("Authorization") ?? "") ?? [];
        if (token) headers.set("X-API-AUTH", token);
      }),
  ],
  [
    "a tool call that fails silently",
    "confirm stores what the dry run showed",
    () => onResponse(replaceBody(/"isError":true/, '"isError":false')),
  ],
  [
    "a content coding that is ignored",
    "any other coding gets a 415",
    () => onRequest(({ headers }) => headers.delete("Content-Encoding")),
  ],
  [
    "xsi:nil that is ignored",
    "a 400 that says what to do",
    () =>
      onRequest((r) => {
        r.body = r.body.replace(' xsi:nil="true"', "");
      }),
    "xml",
  ],
  [
    "a secret that is shown again",
    "which isn't shown again",
    () => onResponse(replaceBody(/"Secret":""/g, '"Secret":"whsec_x"')),
  ],
  ["a CR that a parser loses", "so that parsers preserve it", () => onResponse(replaceBody(/&#13;/g, "\r")), "xml"],
];

describe("the conformance client catches", () => {
  test.each(faults)("%s", async (_, title, alteration, format = "json") => {
    const run = () =>
      runCases({
        ...{ url: proxy.url, key: demo.key, extras: { webhookKey }, formats: [format], only: title },
        signal: new AbortController().signal,
      });
    proxy.alter({});
    expect(await run()).toMatchObject([{ result: "passed" }]);
    proxy.alter(alteration());
    const outcomes = await run();
    proxy.alter({});
    expect(outcomes).toMatchObject([{ result: "failed", reason: expect.stringMatching(/^expected /) }]);
    expect(outcomes[0]?.command).toContain(proxy.url.replace("http://", ""));
  });
});

function swapStatus(from: number, to: number) {
  return (response: ProxiedResponse): void => {
    if (response.status === from) response.status = to;
  };
}

function replaceInPath(from: string, to: string): Alteration["request"] & {} {
  return (request) => {
    request.path = request.path.replaceAll(from, to);
  };
}

function replaceBody(pattern: RegExp, replacement: string) {
  return (response: ProxiedResponse): void => {
    response.body = response.body.replace(pattern, replacement);
  };
}

/** Answers each list request with the response from one request earlier. */
function staleList(): Alteration {
  const before = new Map<string, string>();
  return onResponse((response) => {
    if (!isList(response.request)) return;
    const { body } = response;
    response.body = before.get(response.request.path) ?? body;
    before.set(response.request.path, body);
  });
}

/** Answers 304 to every tag that any response has had. */
function staleTag(): Alteration {
  const seen = new Set<string>();
  return onResponse((response) => {
    const tag = response.request.headers.get("If-None-Match") ?? "";
    if (isList(response.request) && seen.has(tag)) {
      response.status = 304;
      response.body = "";
      response.headers.set("ETag", tag);
      response.headers.delete("Content-Type");
    }
    seen.add(response.headers.get("ETag") ?? "");
  });
}

/** Replays the first response to every later request with the same Idempotency-Key. */
function replays(): Alteration {
  const first = new Map<string, ProxiedResponse>();
  return onResponse((response) => {
    const key = response.request.headers.get("Idempotency-Key");
    if (!key) return;
    const replayed = first.get(key);
    if (!replayed) first.set(key, { ...response });
    else Object.assign(response, { status: replayed.status, body: replayed.body });
  });
}
