// Receives webhooks, verifies their signatures, and prints the changes. Needs Node 18 or newer, and no library.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

if (!process.env.SECRET) throw new Error("set SECRET to the secret of the webhook");
const key = Buffer.from(process.env.SECRET.replace("whsec_", ""), "base64");

/** Whether the request was sent by the server, in the last five minutes. `body` must be the bytes as they arrived. */
function isGenuine(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures = "" } = headers;
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(age <= 300)) return false;
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${digest}`);
  // There are several signatures while the secret is being changed. One that matches is enough.
  return signatures.split(" ").some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** The `Next` of the last event. A program that stores the records keeps it with them. */
let last;

/** Must do no harm if it gets the same changes twice. */
function handle({ type, data: { Since, Next, Changes = [] } }) {
  const isNext = last === undefined || Since === undefined || [Since, Next].includes(last);
  if (Since !== undefined) last = Next;
  if (type === "storefront.gone" || !isNext) return console.log("some changes are missing: read the lists again");
  for (const { Operation, Resource, ID, Record } of Changes) {
    console.log(Operation, Resource, ID, Record ? Record.Name : "");
  }
}

async function receive(request) {
  if (request.method !== "POST") return 405;
  if (!(Number(request.headers["content-length"]) <= 5_000_000)) return 413;
  const body = await buffer(request);
  if (!isGenuine(request.headers, body)) return 401;
  handle(JSON.parse(body));
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
  console.log(`listens on port ${server.address().port}`);
});
