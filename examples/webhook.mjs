// Receives webhooks, verifies their signatures, and prints the changes. Needs Node 18 or newer, but no libraries.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

/** One key per secret; secrets are separated by spaces. */
const keys = (process.env.SECRET ?? "").split(" ").map((secret) => Buffer.from(secret.replace("whsec_", ""), "base64"));
if (keys.some((key) => key.length === 0)) throw new Error("set SECRET to the webhook's secret");

/** Whether the server sent this request in the last five minutes. `body` must have the bytes exactly as they arrived. */
function isGenuine(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures = "" } = headers;
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(age <= 300)) return false;
  // While the secret is being changed, there are several signatures. One match is enough.
  const given = signatures.split(" ").map((signature) => Buffer.from(signature));
  return keys.some((key) => {
    const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
    const expected = Buffer.from(`v1,${digest}`);
    return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
  });
}

// If you store the records, store these three along with them.
/** The last event's `Next`. */
let last;
/** The last 1000 `webhook-id`s, oldest first. */
const handled = new Set();
/** Each record's highest `Revision`, by a name such as `brands 12`. Includes deleted records. */
const revisions = new Map();

/** Handles an event unless we've had it before. If handling it fails, it isn't remembered, and the server sends it again. */
function handleOnce(id, event) {
  if (handled.has(id)) return;
  handle(event);
  handled.add(id);
  if (handled.size > 1000) handled.delete(handled.values().next().value);
}

function handle({ type, data: { Since, Next, Changes = [] } }) {
  const isNext = last === undefined || Since === undefined || [Since, Next].includes(last);
  if (Since !== undefined) last = Next;
  if (type === "storefront.gone" || !isNext) {
    // A restored site's revisions can be lower.
    revisions.clear();
    return console.log("some changes are missing; read the lists again");
  }
  for (const { Operation, Resource, ID, Revision, Record } of Changes) {
    const record = `${Resource} ${ID}`;
    // This change is late: we already have a newer version of the record.
    if (Revision <= revisions.get(record)) continue;
    console.log(Operation, record, Record ? Record.Name : "");
    revisions.set(record, Revision);
  }
}

async function receive(request) {
  if (request.method !== "POST") return 405;
  if (!(Number(request.headers["content-length"]) <= 5_000_000)) return 413;
  const body = await buffer(request);
  if (!isGenuine(request.headers, body)) return 401;
  handleOnce(request.headers["webhook-id"], JSON.parse(body));
  return 204;
}

const server = createServer(async (request, response) => {
  const status = await receive(request).catch((error) => {
    console.error(error);
    return 500;
  });
  response.writeHead(status, status === 413 ? { Connection: "close" } : {}).end();
});
server.listen(Number(process.argv[2] ?? 9000), "127.0.0.1", () => {
  console.log(`listening on port ${server.address().port}`);
});
