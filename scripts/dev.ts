// `npm run dev` starts a server with sample data, and reloads the console's open pages after each change in src/console. Options such as `--database` go to
// `storefront serve`.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import page from "../src/console/dev.html";

const program = ["bin/storefront.js", "serve", "--demo", "--admin", "127.0.0.1:0", ...process.argv.slice(2)];
const server = spawn("node", program, { stdio: ["ignore", "pipe", "inherit"] });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill(signal));

let adminUrl = "";
const dev: Bun.Server<undefined> = Bun.serve({
  hostname: "127.0.0.1",
  port: 8082,
  development: true,
  routes: { "/": page },
  // Everything else is up to the server. It keeps the host, which the server compares with the origin of each change.
  fetch: (request) =>
    fetch(new Request(request.url.replace(dev.url.origin, adminUrl), request), { redirect: "manual" }),
});

for await (const line of createInterface(server.stdout)) {
  adminUrl ||= /^Console and metrics: (\S+)/.exec(line)?.[1] ?? "";
  console.log(adminUrl === "" ? line : line.replaceAll(adminUrl, dev.url.origin));
}
process.exit(server.exitCode ?? 1);
