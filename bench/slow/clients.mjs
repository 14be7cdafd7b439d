// Many slow clients in one process:
//   node clients.mjs PORT HOST KEY KIND COUNT [PATH]
// KIND is `unread` (requests PATH and reads nothing), `stopped` (reads 4 MB of it and stops), `slow` (reads 4 KiB of it per second), `half` (sends half of a
// body) or `whole` (reads everything).
// LIMIT in PATH becomes a different number for each client, counting down from 1000.
// Prints a line once all requests have been sent. After that, it answers each line of input with a line of JSON: `counts` reports what the clients have
// received; `read` makes them read everything, and reports once nothing more arrives. Exits at the end of its input.

import { connect } from "node:net";
import { createInterface } from "node:readline";

const [port, host, key, kind, total, path] = process.argv.slice(2);
/** How many connections may be opening at once. */
const openedAtOnce = 50;
/** The most that one read takes. */
const readBytes = 4096;
/** The clients read in ten groups, one after another, so that each reads once a second. */
const turns = 10;
const stoppedAfter = 4_000_000;
/** After this many seconds without a byte, we expect no more. */
const maxQuietSeconds = 10;

const fields = `HTTP/1.1\r\nHost: ${host}\r\nX-API-AUTH: ${key}\r\n`;
const clients = [];
let opened = 0;
let sent = 0;
let failures = 0;
let isReadingAll = kind === "whole";

function requestOf(number) {
  if (kind === "half") return `POST /restapi/brands.json ${fields}Content-Length: 1000\r\n\r\n${" ".repeat(500)}`;
  return `GET ${path.replace("LIMIT", String(1001 - number))} ${fields}\r\n`;
}

/** Opens a connection, and the next one as soon as its request has been sent. */
function open() {
  if (opened === Number(total)) return;
  const number = ++opened;
  const client = { received: 0, expected: 0, status: "", socket: undefined };
  const buffer = kind === "slow" ? Buffer.alloc(readBytes) : Buffer.alloc(64 * 1024);
  client.socket = connect({
    port: Number(port),
    host: "127.0.0.1",
    onread: { buffer, callback: (count, bytes) => take(client, count, bytes) },
  });
  clients.push(client);
  const { socket } = client;
  if (kind === "unread" || kind === "slow") socket.pause();
  let isSent = false;
  const noteOnce = () => {
    if (!isSent) noteSent();
    isSent = true;
  };
  socket.on("error", () => {
    failures++;
    noteOnce();
  });
  socket.on("connect", () => socket.write(requestOf(number), noteOnce));
}

/** Returns whether to keep reading. */
function take(client, count, bytes) {
  if (client.received === 0) {
    const start = bytes.toString("latin1", 0, Math.min(count, 4096));
    client.status = start.slice(9, 12);
    client.expected = start.indexOf("\r\n\r\n") + 4 + Number(/content-length: (\d+)/i.exec(start)?.[1]);
  }
  client.received += count;
  return isReadingAll || (kind === "stopped" && client.received < stoppedAfter);
}

function noteSent() {
  sent++;
  open();
  // Give the last requests a second to reach the server.
  if (sent === Number(total)) setTimeout(() => console.log("ready"), 1000);
}

for (let i = 0; i < openedAtOnce; i++) open();

let turn = 0;
if (kind === "slow")
  setInterval(() => {
    turn++;
    for (let at = turn % turns; at < clients.length; at += turns) clients[at].socket.resume();
  }, 1000 / turns);

function counts() {
  const bytes = clients.reduce((sum, { received }) => sum + received, 0);
  const complete = clients.filter(({ received, expected }) => received > 0 && received === expected).length;
  return { failures, bytes, complete, ok: clients.filter(({ status }) => status === "200").length };
}

async function readAll() {
  isReadingAll = true;
  for (const { socket } of clients) socket.resume();
  let [before, quietSeconds] = [-1, 0];
  while (quietSeconds < maxQuietSeconds && counts().complete < clients.length) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const { bytes } = counts();
    quietSeconds = bytes === before ? quietSeconds + 1 : 0;
    before = bytes;
  }
  return counts();
}

createInterface({ input: process.stdin })
  .on("line", async (line) => console.log(JSON.stringify(line === "read" ? await readAll() : counts())))
  .on("close", () => process.exit());
