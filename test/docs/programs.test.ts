// The programs in examples/, where their languages are installed. examples/README.md has their output.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DemoServer, startDemo } from "../support/demo-server.ts";

const folder = join(import.meta.dir, "../../examples");
const readme = readFileSync(join(folder, "README.md"), "utf8");
const expectedOutput = /```text\n([\s\S]*?)```/.exec(readme)?.[1];
let server: DemoServer;
beforeAll(async () => {
  server = await startDemo();
});
afterAll(() => server.stop());

const programs: [string, string[]][] = [
  ["curl.sh", ["sh"]],
  ["python.py", ["python3"]],
  ["javascript.mjs", ["node"]],
  ["php.php", ["php"]],
  ["Storefront.java", ["java"]],
  ["Storefront.cs --", ["dotnet", "run"]],
];

for (const [file, command] of programs) {
  const isHere = Bun.which(command[0] as string) !== null;
  test(`${file} ${isHere ? "has the output on its page" : "is described on its page"}`, async () => {
    expect(readme).toContain(`\`${command.join(" ")} ${file} http://127.0.0.1:8080 "$KEY"\``);
    if (!isHere) return;
    const running = Bun.spawn([...command, ...join(folder, file).split(" "), server.url, server.key], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
    expect(output || complaint).toBe(expectedOutput as string);
  }, 60_000);
}
