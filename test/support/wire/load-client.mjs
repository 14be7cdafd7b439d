// Sends requests with Node's HTTP client until its input ends, and prints results as JSON: how many responses came on kept and on single-request connections,
// and each failure, with whether its connection was new. Arguments: a URL, how many clients keep their connection, and how many open one per request.

import http from "node:http";

const [url, kept, single] = process.argv.slice(2);
const counts = { kept: 0, single: 0, closes: 0, failures: [] };
let isRunning = true;
process.stdin.resume().on("end", () => {
  isRunning = false;
});

function request(kind, agent) {
  return new Promise((resolve) => {
    const fail = (reason) => resolve(void counts.failures.push(`${sent.reusedSocket ? "kept" : "new"}: ${reason}`));
    const sent = http.get(url, { agent }, (response) => {
      if (kind === "kept" && response.headers.connection === "close") counts.closes++;
      response.resume();
      response.on("error", ({ code }) => fail(code));
      response.on("end", () => {
        if (response.statusCode !== 200) return fail(response.statusCode);
        counts[kind]++;
        resolve();
      });
    });
    sent.on("error", ({ code }) => fail(code));
  });
}

async function run(kind) {
  const agent = new http.Agent({ keepAlive: kind === "kept", maxSockets: 1 });
  while (isRunning) await request(kind, agent);
  agent.destroy();
}

const clients = [...Array(Number(kept)).fill("kept"), ...Array(Number(single)).fill("single")];
await Promise.all(clients.map(run));
console.log(JSON.stringify(counts));
