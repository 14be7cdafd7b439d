// Uses the console through a proxy, as a browser would.

import { rmSync } from "node:fs";
import { runProgram, startProcess } from "../../test/support/programs/processes.ts";
import type { TestCertificate } from "./certificate.ts";
import { connectClient, type ProxyClient } from "./client.ts";
import { type ProxyKind, startProxy } from "./proxy.ts";
import type { Report } from "./report.ts";
import { freePort } from "./tools.ts";

const host = "console.example";

export async function checkConsole(
  report: Report,
  folder: string,
  kind: ProxyKind,
  program: string,
  certificate: TestCertificate,
): Promise<void> {
  const settings = { DATABASE: `sqlite:${folder}-data/test.db` };
  await runProgram(["operator", "add", "anna"], settings);
  const linked = await runProgram(["operator", "link", "anna", "--url", `https://${host}`], settings);
  const secret = linked.stdout.trim().split("=")[1] ?? "";
  const port = await freePort();
  const server = await startProcess({ ...settings, ADMIN: `127.0.0.1:${port}`, ADMIN_HOST: host });
  const proxy = await startProxy(kind, program, folder, port, certificate, "console");
  const client = await connectClient(proxy.ports.https, certificate.authority, host);
  try {
    const check = (what: string, holds: boolean, detail?: unknown) => {
      report.check(`${kind.name}: console: ${what}`, holds, detail);
    };
    await checkPage(check, client);
    await checkSession(check, client, secret);
    const metrics = await client.request({ path: "/metrics" });
    check("the metrics aren't available", metrics.status === 404, metrics);
  } finally {
    client.close();
    await proxy.stop();
    await server.end();
    rmSync(`${folder}-data`, { recursive: true, force: true });
  }
}

type Check = (what: string, holds: boolean, detail?: unknown) => void;

async function checkPage(check: Check, client: ProxyClient): Promise<void> {
  // From a checkout, the script is built first, and the page waits for it.
  await client.request({ path: "/console/main-new.js" });
  const page = await client.request({ path: "/" });
  const policy = page.headers["content-security-policy"] ?? "";
  check("the page has its content security policy", page.status === 200 && policy.includes("'nonce-"), page.headers);
  const [, path = ""] = /src="([^"]+\/main-[^"]+)"/.exec(page.body) ?? [];
  const script = await client.request({ path, headers: { "accept-encoding": "gzip, br" } });
  check("the script is sent with Brotli", script.headers["content-encoding"] === "br", script.headers);
}

async function checkSession(check: Check, client: ProxyClient, secret: string): Promise<void> {
  const request = { path: "/operator/session", method: "POST", body: JSON.stringify({ link: secret }) };
  const type = { "content-type": "application/json" };
  const foreign = await client.request({ ...request, headers: { ...type, origin: "https://evil.example" } });
  check("a page from another origin can't sign in", foreign.status === 403, foreign);
  const signedIn = await client.request({ ...request, headers: { ...type, origin: `https://${host}` } });
  const cookie = signedIn.headers["set-cookie"] ?? "";
  check("a link signs in, with a Secure cookie", signedIn.status === 200 && /; Secure/.test(cookie), signedIn);
  const sites = await client.request({ path: "/operator/sites", headers: { cookie: cookie.split(";")[0] ?? "" } });
  check("the session works", sites.status === 200, sites);
}
