// Puts load on a server with wrk if it's installed, otherwise with autocannon.

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pinned, tracked } from "./process.ts";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `[<id>]` is replaced by a different text in each request. */
  readonly body?: string;
}

export interface Result {
  readonly requests: number;
  readonly perSecond: number;
  /** The 99th percentile, in milliseconds. */
  readonly p99: number;
  /** Responses other than 2xx and 304, and failed connections. */
  readonly errors: number;
}

export const loadTool = Bun.which("wrk") ? "wrk" : "autocannon";

/** Sends `request` over and over on `connections` connections for `seconds`. @param folder for the load tool's script */
export function load(
  url: string,
  request: Request,
  connections: number,
  seconds: number,
  folder: string,
): Promise<Result> {
  return loadTool === "wrk"
    ? runWrk(url, request, connections, seconds, folder)
    : runAutocannon(url, request, connections, seconds);
}

async function runWrk(
  url: string,
  request: Request,
  connections: number,
  seconds: number,
  folder: string,
): Promise<Result> {
  // Several loads may be running at once.
  const script = join(folder, `${randomUUID()}.lua`);
  writeFileSync(script, toLua(request));
  const cmd = [
    "wrk",
    "-t1",
    `-c${connections}`,
    `-d${seconds}s`,
    "--timeout",
    "60s",
    "--latency",
    "-s",
    script,
    url + request.path,
  ];
  const text = await outputOf(pinned(1, cmd));
  const [requests, micros, p99, errors] = /RESULT (\d+) (\d+) (\d+) (\d+)/.exec(text)?.slice(1).map(Number) ?? [];
  if (requests === undefined || !micros) throw new Error(`unexpected output from wrk: ${text}`);
  return { requests, perSecond: requests / (micros / 1e6), p99: (p99 ?? 0) / 1000, errors: errors ?? 0 };
}

/** wrk counts a 304 as a success, and 400 and above as a `status` error. */
function toLua({ method, headers, body }: Request): string {
  const lines = Object.entries(headers).map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`);
  return `wrk.method = ${lua(method)}
${lines.join("\n")}
${body === undefined ? "" : toLuaBody(body)}
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

function toLuaBody(body: string): string {
  const [before = "", after] = body.split("[<id>]");
  if (after === undefined) return `wrk.body = ${lua(body)}`;
  return `local n = 0
function request()
  n = n + 1
  return wrk.format(nil, nil, nil, ${lua(before)} .. n .. ${lua(after)})
end`;
}

function lua(text: string): string {
  return JSON.stringify(text);
}

async function runAutocannon(url: string, request: Request, connections: number, seconds: number): Promise<Result> {
  const options = {
    url: url + request.path,
    method: request.method,
    headers: request.headers,
    connections,
    duration: seconds,
    timeout: 60,
    ...(request.body === undefined ? {} : { body: request.body, idReplacement: true }),
  };
  const code = `require("autocannon")(${JSON.stringify(options)}).then((r) => console.log("RESULT", JSON.stringify(r)))`;
  const text = await outputOf(pinned(1, ["node", "-e", code]));
  const result = JSON.parse(/RESULT (.*)/.exec(text)?.[1] ?? "{}");
  const errors = result.errors + result.non2xx - (result.statusCodeStats?.["304"]?.count ?? 0);
  return { requests: result.requests.total, perSecond: result.requests.average, p99: result.latency.p99, errors };
}

async function outputOf(cmd: string[]): Promise<string> {
  const child = tracked(Bun.spawn(cmd, { cwd: join(import.meta.dir, ".."), stdio: ["ignore", "pipe", "inherit"] }));
  const text = await new Response(child.stdout).text();
  await child.exited;
  return text;
}
