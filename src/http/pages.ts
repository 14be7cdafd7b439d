// The few pages that a person may open in a browser.

import { type Code, refusals } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { statusOf } from "./status.ts";

const style = `
  :root { color-scheme: light dark; }
  body { font: 1rem/1.6 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1.25rem; }
  h1 { font-size: 1.6rem; line-height: 1.25; }
  code, pre { font: .9em ui-monospace, monospace; }
  pre { padding: .75rem 1rem; overflow-x: auto; background: #8881; border-radius: .4rem; }
  td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
`;

/** The page at `/`: what this is and where to go on. */
export function homePage(resources: readonly Resource[]): string {
  const served = resources.filter((resource) => resource.access !== "system");
  const rows = served.map(
    (resource) =>
      `<tr><td><code>/restapi/${resource.path}.json</code><br><code>/restapi/${resource.path}.xml</code></td><td>${resource.description}</td></tr>`,
  );
  return page(
    "Storefront",
    `<p>This is a Storefront server: brands, order statuses and store locations of online shops, in JSON and XML, behind a key per website.</p>
<table>${rows.join("")}</table>
<p>Send your API key with every request:</p>
<pre>curl -H 'X-API-AUTH: &lt;API_KEY&gt;' {this address}/restapi/brands.json</pre>
<p>What an error means: <a href="/docs/problems">problems</a>. For machines: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>, <a href="/metrics">/metrics</a>.</p>`,
  );
}

/** The page of each problem type, by path, and their list. */
export function problemPages(): Map<string, string> {
  const codes = Object.keys(refusals) as Code[];
  const list = codes.map(
    (code) =>
      `<li><a href="/docs/problems/${code}">${code}</a>: ${statusOf(code)}, ${refusals[code].toLowerCase()}</li>`,
  );
  const pages = new Map([
    [
      "/docs/problems",
      page(
        "Problems",
        `<p>Every error is a problem document (RFC 9457). Its <code>type</code> is one of these.</p><ul>${list.join("")}</ul>`,
      ),
    ],
  ]);
  for (const code of codes) {
    const { meaning, remedy } = explanations[code];
    const body = `<p>Status <strong>${statusOf(code)}</strong>, type <code>/docs/problems/${code}</code>.</p><p>${meaning}</p><p>${remedy}</p><p><a href="/docs/problems">All problems</a></p>`;
    pages.set(`/docs/problems/${code}`, page(refusals[code], body));
  }
  return pages;
}

const explanations: Record<Code, { meaning: string; remedy: string }> = {
  "bad-request": {
    meaning:
      "The request cannot be read: a body that is empty, cut short, not UTF-8 or not well-formed, a DOCTYPE, or a parameter with a bad value.",
    remedy: "The detail says what is wrong and where. Nothing was changed.",
  },
  "invalid-record": {
    meaning:
      "The body was read, and the record in it is not acceptable: a field that does not exist, a value of the wrong type, too long, or missing.",
    remedy:
      "<code>errors</code> lists every fault with its field (a dotted path such as <code>Address.Town</code>). Correct them all and send it again. Nothing was changed.",
  },
  "ambiguous-id": {
    meaning:
      "A write names its record by the ID in the path, in the body or as <code>?ID=</code>. Here it named none, or several that differ.",
    remedy: "Name one record. A delete without an ID never deletes anything.",
  },
  unauthorized: {
    meaning: "The header <code>X-API-AUTH</code> is missing, or its key is malformed, unknown, revoked or expired.",
    remedy: "Send a valid key of this website with every request. The shop's operator issues them.",
  },
  forbidden: {
    meaning: "The key is valid, but it belongs to another website, or may only read.",
    remedy: "Check the host that you call, or ask the operator for a key with the scope <code>write</code>.",
  },
  "not-found": {
    meaning: "There is no such path, or no record with this ID.",
    remedy:
      "Paths are case-sensitive and end in <code>.json</code> or <code>.xml</code>. The detail says what does exist.",
  },
  "method-not-allowed": {
    meaning: "The path exists, and does not have this method.",
    remedy: "The header <code>Allow</code> lists those it has. Locations can only be read.",
  },
  conflict: {
    meaning: "A request with the same <code>Idempotency-Key</code> is still being answered.",
    remedy: "Wait for <code>Retry-After</code> and send it again: you will get the first one's reply.",
  },
  "precondition-failed": {
    meaning: "The record is not any more what <code>If-Match</code> says: somebody changed it in between.",
    remedy: "Read it again, apply your change to what it is now, and send that with the new <code>ETag</code>.",
  },
  "too-large": { meaning: "The body has more than 1 MiB.", remedy: "Send one record per request." },
  "unsupported-media-type": {
    meaning: "The body is compressed, or declares another encoding than UTF-8.",
    remedy: "Send UTF-8, as it is. The path's suffix alone says whether it is JSON or XML.",
  },
  "wrong-site": {
    meaning: "No website of this server answers under the host of the request.",
    remedy:
      "Check the address. The operator adds a host with <code>storefront site set &lt;name&gt; --hostname &lt;host&gt;</code>.",
  },
  "idempotency-key-reused": {
    meaning: "The <code>Idempotency-Key</code> was used within the last 24 hours for another request.",
    remedy: "Make a new key for each request, and keep it only to repeat that one.",
  },
  "too-many-requests": {
    meaning: "The key has used up its allowance, or this address sent too many invalid keys.",
    remedy: "Wait for as many seconds as <code>Retry-After</code> says.",
  },
  internal: {
    meaning: "The server failed to answer. That is a fault in it, not in your request.",
    remedy: "Tell the operator the request's id (<code>instance</code>), with which the log tells more.",
  },
  unavailable: {
    meaning: "The storage cannot be reached, is full, or does not answer in time. Nothing is half done.",
    remedy: "Send the request again after <code>Retry-After</code> seconds.",
  },
};

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${style}</style>
<h1>${title}</h1>
${body}
</html>
`;
}
