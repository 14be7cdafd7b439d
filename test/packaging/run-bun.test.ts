// How the scripts in `bin` start Bun.

import { expect, test } from "bun:test";
import { join } from "node:path";

const bin = join(import.meta.dir, "..", "../bin");

test.each([
  ["not set", {}, "default"],
  ["set", { SOME_SETTING: "own" }, "own"],
  ["set to nothing", { SOME_SETTING: "" }, ""],
])("a setting for Bun applies unless the environment has it: %s", async (_, environment, expected) => {
  const script = `import("${bin}/run-bun.js").then(({ runBun }) => runBun(["-p", "process.env.SOME_SETTING"], { SOME_SETTING: "default" }))`;
  const child = Bun.spawn(["node", "-e", script], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect((await new Response(child.stdout).text()).trim()).toBe(expected);
});

test("the program runs with the runtime's settings", async () => {
  const { runtimeSettings } = await import("../../bin/runtime-settings.js");
  const child = Bun.spawn(["node", join(bin, "storefront.js"), "--version"], {
    env: { ...process.env, ...unset(runtimeSettings), BUN_JSC_dumpOptions: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = (await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])).join(
    "\n",
  );
  expect(printed).toContain("useWarmUpMarkedBlocks=false");
});

function unset(settings: Record<string, string>): Record<string, undefined> {
  return Object.fromEntries(Object.keys(settings).map((name) => [name, undefined]));
}
