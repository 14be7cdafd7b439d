import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { makeCertificate } from "../support/http/certificate.ts";
import { openWorkspace, type Workspace } from "../support/programs/command.ts";
import { waitUntil } from "../support/time.ts";

let workspace: Workspace;
beforeEach(() => {
  workspace = openWorkspace();
});
afterEach(() => workspace.close());

test("health: a ready server, and a stopped one", async () => {
  const server = await workspace.serve();
  expect(await workspace.run(["health", "--url", server.url])).toEqual({ code: 0, stdout: "ready\n", stderr: "" });
  const json = await workspace.mustRun(["health", "--json", "--url", `${server.url}/any?x#y`]);
  expect(JSON.parse(json)).toEqual({ ready: true, url: `${server.url}/readyz` });
  server.kill();
  await server.exited;
  const { code, stdout, stderr } = await workspace.run(["health", "--url", server.url]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^storefront: no response from http:\S+\/readyz: nothing is listening there\n$/);
});

test("health: fails once the server's database is deleted", async () => {
  const server = await workspace.serve();
  rmSync(workspace.file("test.db"));
  const isUnhealthy = async () => {
    const { code, stderr } = await workspace.run(["health", "--url", server.url]);
    return code === 1 && stderr.includes("the server isn't ready");
  };
  await waitUntil(isUnhealthy, "the server to notice");
});

test("health: by default asks the server started with the same environment, even with its own certificate", async () => {
  const { cert, key } = makeCertificate();
  writeFileSync(workspace.file("cert.pem"), cert);
  writeFileSync(workspace.file("key.pem"), key);
  const tls = { STOREFRONT_TLS_CERT: "cert.pem", STOREFRONT_TLS_KEY: "key.pem", STOREFRONT_HOST: "0.0.0.0" };
  const server = await workspace.serve([], { env: tls });
  const env = { ...tls, STOREFRONT_PORT: new URL(server.url).port };
  // A proxy in the environment isn't used for this machine.
  expect((await workspace.run(["health"], { env: { ...env, HTTPS_PROXY: "http://127.0.0.1:1" } })).code).toBe(0);
});

test.each(["127.0.0.1", "::1"])("health: the default address when the server listens on %s", async (host) => {
  const server = await workspace.serve(["--host", host]);
  const env = { STOREFRONT_HOST: host, STOREFRONT_PORT: new URL(server.url).port };
  expect((await workspace.run(["health"], { env })).code).toBe(0);
});

test.each(["shop.example", "ftp://shop.example", ""])("health: rejects `%s` as a URL", async (url) => {
  const { code, stderr } = await workspace.run(["health", "--url", url]);
  expect([code, stderr]).toEqual([2, `storefront: invalid URL \`${url}\`: use one such as http://127.0.0.1:8080\n`]);
});
