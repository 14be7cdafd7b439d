// The programs in examples/, where their languages are installed with what the program needs. examples/README.md has their output.

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startDemo } from "../../support/programs/demo-server.ts";
import { startFlakyProxy } from "../../support/wire/flaky-proxy.ts";

const folder = join(import.meta.dir, "../../../examples");
const readme = readFileSync(join(folder, "README.md"), "utf8");
const expectedOutput = /```text\n([\s\S]*?)```/.exec(readme)?.[1];
const server = await startDemo();
afterAll(() => server.stop());

/** The file, the command that runs it, and a command that succeeds if the interpreter has all that the program needs. */
const programs: [string, string[], string[]][] = [
  ["curl.sh", ["sh"], ["curl", "--version"]],
  ["python.py", ["python3"], ["python3", "-c", "import urllib.request, xml.etree.ElementTree"]],
  ["javascript.mjs", ["node"], ["node", "-e", "fetch"]],
  ["php.php", ["php"], ["php", "-r", "exit(extension_loaded('simplexml') ? 0 : 1);"]],
  ["Storefront.java", ["java"], ["java", "--describe-module", "jdk.compiler"]],
  ["Storefront.cs --", ["dotnet", "run"], ["dotnet", "--version"]],
];

function succeeds(command: string[]): boolean {
  return Bun.which(command[0] as string) !== null && Bun.spawnSync(command).exitCode === 0;
}

for (const [file, command, probe] of programs) {
  const canRun = succeeds(probe);
  test(`${file} ${canRun ? "has the output on its page" : "is described on its page"}`, async () => {
    expect(readme).toContain(`\`${command.join(" ")} ${file} http://127.0.0.1:8080 "$KEY"\``);
    if (!canRun) return;
    const running = Bun.spawn([...command, ...join(folder, file).split(" "), server.url, server.key], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
    expect(output || complaint).toBe(expectedOutput as string);
  });
}

const hasPhp = succeeds(["php", "--version"]);
const hasXml = succeeds(["php", "-r", "exit(extension_loaded('simplexml') ? 0 : 1);"]);
/** What php.php prints, up to the part that needs an extension. */
const phpOutput = hasXml ? expectedOutput : expectedOutput?.replace(/^created in XML.*\n/m, "");

async function runPhp(url: string, key: string): Promise<void> {
  const running = Bun.spawn(["php", join(folder, "php.php"), url, key], { stdout: "pipe", stderr: "pipe" });
  expect(await running.stdout.text()).toStartWith(phpOutput as string);
}

test(`php.php ${hasPhp ? "writes once what it sends several times" : "isn't run on a failing network"}`, async () => {
  if (!hasPhp) return;
  const own = await startDemo();
  const proxy = await startFlakyProxy(own.url);
  proxy.misbehave("cut the response short", undefined, "lose the response", undefined, "respond 503");
  proxy.misbehave(undefined, "lose the response");
  await runPhp(proxy.url, own.key);
  const methods = proxy.seen.map((one) => one.split(" ")[0]);
  expect(methods.slice(0, 8)).toEqual(["GET", "GET", "POST", "POST", "PUT", "PUT", "DELETE", "DELETE"]);
  await proxy.stop();
  await own.stop();
}, 20_000);

test(`php.php ${hasPhp ? "keeps to the key's rate limit, and says what it sends" : "isn't run with a rate limit"}`, async () => {
  if (!hasPhp) return;
  const own = await startDemo();
  const key = await own.openSandbox(1);
  const seen: unknown[] = [];
  const recorder = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const { method, headers } = request;
      const body = await request.bytes();
      const response = await fetch(own.url + pathname, { method, headers, ...(body.length > 0 ? { body } : {}) });
      seen.push([response.status, method, headers.get("Content-Type"), headers.get("Idempotency-Key")?.length]);
      return response;
    },
  });
  await runPhp(recorder.url.origin, key);
  expect(seen.slice(0, 4)).toEqual([
    [200, "GET", null, undefined],
    [201, "POST", "application/json", 32],
    [200, "PUT", "application/json", 32],
    [200, "DELETE", null, 32],
  ]);
  await recorder.stop(true);
  await own.stop();
}, 20_000);

test.skipIf(!succeeds(["curl", "--version"]))("curl.sh stops at an error, and shows the problem", async () => {
  const running = Bun.spawn(["sh", join(folder, "curl.sh"), server.url, "sfk_wrong"], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
  expect([await running.exited, output]).toEqual([22, ""]);
  expect(complaint).toContain('"type":"/docs/problems/unauthorized"');
});
