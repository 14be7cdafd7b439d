// `node prober.mjs PORT HOST PATH KEY PROBE` sends a request every 2 ms on one connection, and measures how long each waits. PROBE is `look-ups`, to look up a
// record, or `writes`, to rename a brand. Only one request is sent at a time; any that become due before its response count as having waited for it. Prints
// `ready` after the first successful request. The input line `mark` starts a measurement, and `report` prints its figures as a line of JSON. Exits at the end
// of its input.

import { connect } from "node:net";
import { createInterface } from "node:readline";

const [port, host, path, key, probe] = process.argv.slice(2);
const interval = 2;
const headers = `HTTP/1.1\r\nHost: ${host}\r\nX-API-AUTH: ${key}\r\n`;
const lookUp = `GET ${path} ${headers}\r\n`;
let written = 0;
const socket = connect(Number(port), "127.0.0.1");
socket.setNoDelay(true);

let waits = [];
let due = performance.now();
let isWaiting = false;
let expected = 0;
let received = "";
let failures = 0;
let lastFailure = "";
let hasBegun = false;

/** Returns the next request. Each write stores another name, so that it changes the record. */
function toRequest() {
  if (probe !== "writes") return lookUp;
  const body = JSON.stringify({ Name: `Written ${++written}` });
  return `PUT ${path} ${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

socket.on("data", (bytes) => {
  received += bytes.toString("latin1");
  const end = received.indexOf("\r\n\r\n");
  if (end === -1) return;
  expected ||= end + 4 + Number(/content-length: (\d+)/i.exec(received)?.[1]);
  if (received.length < expected) return;
  const isOk = received.startsWith("HTTP/1.1 200");
  // The status and the body.
  if (!isOk) lastFailure = received.slice(9, expected).replace(/\r\n.*\r\n/s, ": ");
  received = received.slice(expected);
  expected = 0;
  if (isOk && !hasBegun) {
    hasBegun = true;
    console.log("ready");
  }
  // A failed request is repeated. Its wait ends with the first successful response.
  if (!isOk) {
    failures++;
    return void setTimeout(() => socket.write(toRequest()), interval);
  }
  isWaiting = false;
  for (const now = performance.now(); due <= now; due += interval) waits.push(now - due);
  next();
});

/** Sends the next probe when it is due. */
function next() {
  const early = due - performance.now();
  if (early > 0.2) return void setTimeout(next, early);
  if (isWaiting) return;
  isWaiting = true;
  socket.write(toRequest());
}

socket.on("connect", () => {
  due = performance.now();
  next();
});

createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (line === "mark") [waits, failures, lastFailure] = [[], 0, ""];
    // A request without a response counts with the time that it has waited so far.
    const all = isWaiting ? [...waits, performance.now() - due] : waits;
    if (line === "report") console.log(JSON.stringify(summary(all)));
  })
  .on("close", () => process.exit());

function summary(all) {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { failures, lastFailure, count: sorted.length, p50: at(0.5), p999: at(0.999), longest: sorted.at(-1) ?? 0 };
}
