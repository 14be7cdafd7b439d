// Clients that follow a site with long polls: each waits for the next change, and sends another request as soon as it has it.
//   node waiters.mjs PORT HOST COUNT KEY...
// Prints a line once all clients are waiting. It reads commands from standard input: `mark` starts a measurement, `report` prints a line of JSON with what
// the clients have received since (`Received` in waiters.ts), `leave` closes all connections, and `return` opens new ones and prints a line once all are
// waiting. Exits at the end of its input.

import { connect } from "node:net";
import { createInterface } from "node:readline";

const [port, host, total, ...keys] = process.argv.slice(2);
/** How many connections may be opening at once. */
const openedAtOnce = 100;
/** How many pages' ages a measurement keeps. */
const maxAges = 100_000;
const now = () => performance.timeOrigin + performance.now();

let opened = 0;
let waiting = 0;
const nothing = { pages: 0, failures: 0, first: 0, last: 0, oldest: 0 };
let sockets = [];
let seen = { ...nothing };
let ages = [];

/** Opens a connection, and the next one as soon as its client is waiting. */
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
  // Give the last requests a second to reach the server.
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
