// Clients that follow a site: each waits for the next change (long poll), and sends the next request as soon as it has received the change.
//   node waiters.mjs PORT HOST COUNT KEY...
// Prints a line when all clients wait. The line `mark` on standard input starts a measurement. At the line `report`, the process prints a line of
// JSON with what the clients have received since (`Received` in waiters.ts). At the line `leave`, all clients close their connections; at the line
// `return`, they open new ones, and the process prints a line when all wait. The process exits at the end of its input.

import { connect } from "node:net";
import { createInterface } from "node:readline";

const [port, host, total, ...keys] = process.argv.slice(2);
/** Maximum number of connections that are being opened at once. */
const openedAtOnce = 100;
/** Maximum number of pages of a measurement whose age is kept. */
const maxAges = 100_000;
const now = () => performance.timeOrigin + performance.now();

let opened = 0;
let waiting = 0;
const nothing = { pages: 0, failures: 0, first: 0, last: 0, oldest: 0 };
let sockets = [];
let seen = { ...nothing };
let ages = [];

/** Opens a connection. When its client waits, the next connection is opened. */
function open() {
  if (opened === Number(total)) return;
  const key = keys[opened++ % keys.length];
  const socket = connect(Number(port), "127.0.0.1");
  sockets.push(socket);
  socket.setNoDelay(true);
  let received = "";
  let since = "now";
  const ask = () => {
    const query = since === "now" ? "since=now" : `wait=55&since=${since}`;
    socket.write(`GET /restapi/changes.json?${query} HTTP/1.1\r\nHost: ${host}\r\nX-API-AUTH: ${key}\r\n\r\n`);
  };
  socket.on("connect", ask);
  socket.on("error", () => seen.failures++);
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
    const end = received.indexOf("\r\n\r\n");
    if (end === -1) return;
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
    if (received.length < end + 4 + length) return;
    note(received);
    const next = /"Next":"([^"]+)"/.exec(received)?.[1];
    received = "";
    if (since === "now") noteWaiting();
    since = next ?? "now";
    ask();
  });
}

function note(response) {
  if (!response.startsWith("HTTP/1.1 200")) seen.failures++;
  else if (!response.includes('"Changes":[]')) {
    seen.last = now();
    if (seen.pages++ === 0) seen.first = seen.last;
    const time = response.lastIndexOf('"Time":"') + 8;
    const age = seen.last - Date.parse(response.slice(time, response.indexOf('"', time)));
    seen.oldest = Math.max(seen.oldest, age);
    if (ages.length < maxAges) ages.push(age);
  }
}

function noteWaiting() {
  waiting++;
  open();
  // Wait a second, because the last requests may not have arrived at the server yet.
  if (waiting === Number(total)) setTimeout(() => console.log('"waiting"'), 1000);
}

function report() {
  const usual = ages.sort((a, b) => a - b)[Math.floor(ages.length / 2)] ?? 0;
  console.log(JSON.stringify({ ...seen, usual }));
}

function start() {
  [opened, waiting, sockets] = [0, 0, []];
  for (let i = 0; i < openedAtOnce; i++) open();
}

start();

createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (line === "report") return report();
    if (line === "leave") {
      for (const socket of sockets) socket.destroy();
      return;
    }
    if (line === "return") return start();
    seen = { ...nothing };
    ages = [];
  })
  .on("close", () => process.exit());
