// The programs in examples/, where their languages are installed with what the program needs. examples/README.md has their output.

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startDemo } from "../../support/programs/demo-server.ts";

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

test.skipIf(!succeeds(["curl", "--version"]))("curl.sh stops at an error, and shows the problem", async () => {
  const running = Bun.spawn(["sh", join(folder, "curl.sh"), server.url, "sfk_wrong"], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
  expect([await running.exited, output]).toEqual([22, ""]);
  expect(complaint).toContain('"type":"/docs/problems/unauthorized"');
});
