// Several processes start at once on a database file that doesn't exist yet.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "storefront-first-start-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Opens the file of its arguments when a line arrives on its standard input, and prints `opened` or the error. */
const program = `
  const { openSqlite } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/store/sqlite/engine.ts"))});
  process.stdout.write("ready\\n");
  for await (const path of console) {
    try {
      await openSqlite(path, []).close();
      process.stdout.write("opened\\n");
    } catch (error) {
      process.stdout.write(error.message + "\\n");
    }
  }
`;

test("first start: created once, opened by all", async () => {
  const processes = Array.from({ length: 4 }, () => {
    const child = Bun.spawn([process.execPath, "-e", program], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    return { child, line: async () => (await lines.read()).value?.trim() };
  });
  const lines = () => Promise.all(processes.map(({ line }) => line()));
  expect(new Set(await lines())).toEqual(new Set(["ready"]));
  const results: unknown[] = [];
  for (let round = 0; round < 40; round++) {
    for (const { child } of processes) {
      child.stdin.write(`${join(folder, `${round}.db`)}\n`);
      child.stdin.flush();
    }
    results.push(...(await lines()));
  }
  expect(results.filter((result) => result !== "opened")).toEqual([]);
  for (const { child } of processes) {
    child.stdin.end();
    await child.exited;
  }
});
