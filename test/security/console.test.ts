// The console is safe from people who have a used link, an ended session, the stored digests, or a page that an operator opens.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { createSignInLink } from "../../src/operator/operators/sessions.ts";
import { startTestConsole, type TestConsole } from "../support/console/server.ts";
import { openWorkspace } from "../support/programs/command.ts";

let server: TestConsole;
beforeEach(async () => {
  server = await startTestConsole();
  await server.addOperator("anna");
});
afterEach(() => server.stop());

const secretOf = (link: string) => link.split("=")[1] as string;
const digestOf = (secret: string) => Bun.SHA256.hash(secret, "hex");

async function signIn(link: string): Promise<Response> {
  return fetch(`${server.adminUrl}/operator/session`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: server.adminUrl },
    body: JSON.stringify({ link }),
  });
}

/** The status of a request with this as its session's secret. */
async function statusWith(secret: string): Promise<number> {
  const name = `storefront_${new URL(server.adminUrl).port}`;
  return (await fetch(`${server.adminUrl}/operator/sites`, { headers: { Cookie: `${name}=${secret}` } })).status;
}

test("the page can't be framed, only runs its own script, and only connects to its own address", async () => {
  const [first, second] = [await fetch(server.adminUrl), await fetch(server.adminUrl)];
  const policy = first.headers.get("Content-Security-Policy") ?? "";
  for (const part of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"])
    expect(policy.split("; ")).toContain(part);
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  const nonceIn = (text: string | null) => /'nonce-([^']+)'/.exec(text ?? "")?.[1];
  expect(nonceIn(policy)?.length).toBeGreaterThan(20);
  expect(nonceIn(second.headers.get("Content-Security-Policy"))).not.toBe(nonceIn(policy));
  const page = await first.text();
  expect(page).not.toMatch(
    /<script(?! type="module" src="\/console\/[a-z]+-\w+\.js")|<style(?! nonce=)| style=| on[a-z]+=/,
  );
  // The frame shows its style before the script arrives. It carries the policy's nonce.
  expect(/<style nonce="([^"]+)">/.exec(page)?.[1]).toBe(nonceIn(policy));
  expect(first.headers.get("Referrer-Policy")).toBe("no-referrer");
});

test("a link isn't accepted as a session, nor a session as a link, nor the stored digests as either", async () => {
  const link = secretOf(await server.link("anna"));
  expect(await statusWith(link)).toBe(401);
  const { cookie } = await server.signIn("anna");
  const session = secretOf(cookie);
  expect(await statusWith(session)).toBe(200);
  expect((await signIn(digestOf(link))).status).toBe(401);
  expect(await statusWith(digestOf(session))).toBe(401);
  expect((await signIn(session)).status).toBe(401);
});

test("opening a link that was already used ends the sessions of whoever used it first", async () => {
  const secret = secretOf(await server.link("anna"));
  const thief = await signIn(secret);
  const stolen = secretOf(thief.headers.get("Set-Cookie")?.split(";", 1)[0] ?? "");
  expect(await statusWith(stolen)).toBe(200);
  expect((await signIn(secret)).status).toBe(401);
  const anna = await server.signIn("anna");
  await anna.call("DELETE", "/sessions");
  expect(await statusWith(stolen)).toBe(401);
});

test("a session is worthless on the public port, and so is a key in the console", async () => {
  const { cookie } = await server.signIn("anna");
  const records = await fetch(`${server.url}/restapi/brands.json`, {
    headers: { Cookie: cookie, "X-API-AUTH": secretOf(cookie) },
  });
  expect(records.status).toBe(401);
  const { key } = (
    await (await server.signIn("anna")).call("POST", "/sites/shop/keys", { label: "till", scope: "write" })
  ).json;
  expect(key).toStartWith("sfk_");
  const asKey = await fetch(`${server.adminUrl}/operator/sites`, { headers: { "X-API-AUTH": key } });
  expect([asKey.status, await statusWith(key)]).toEqual([401, 401]);
});

test("a removed operator has no session, even if another one later gets that name", async () => {
  const anna = await server.signIn("anna");
  const ben = await server.signIn("ben");
  const { operators } = (await anna.call("GET", "/operators")).json;
  const { id } = operators.find(({ name }: { name: string }) => name === "ben");
  const unused = await createSignInLink(server.engine, "ben", Date.now());
  await anna.call("DELETE", `/operators/${id}`, {});
  await server.addOperator("ben");
  expect((await ben.call("GET", "/sites")).status).toBe(401);
  expect((await signIn(unused)).status).toBe(401);
});

test("no link or session appears in the log, whatever is logged", async () => {
  const workspace = openWorkspace();
  const started = await workspace.serve(["--admin", "127.0.0.1:0", "--log", "trace", "--access-log", "--slow-ms", "1"]);
  const { adminUrl = "" } = started;
  await workspace.mustRun(["operator", "add", "anna"]);
  const link = secretOf((await workspace.mustRun(["operator", "link", "anna", "--url", adminUrl])).trim());
  const headers = { "Content-Type": "application/json", Origin: adminUrl };
  const request = { method: "POST", headers, body: JSON.stringify({ link }) };
  const response = await fetch(`${adminUrl}/operator/session`, request);
  const cookie = response.headers.get("Set-Cookie")?.split(";", 1)[0] ?? "";
  expect((await fetch(`${adminUrl}/operator/sites`, { headers: { Cookie: cookie } })).status).toBe(200);
  await fetch(`${adminUrl}/operator/session`, request);
  started.kill();
  await started.exited;
  const written = started.stderr() + started.stdout();
  await workspace.close();
  expect(written).toContain("Storefront is listening on");
  for (const secret of [link, secretOf(cookie)]) expect(written).not.toContain(secret);
});
