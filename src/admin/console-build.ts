// Makes the script of the console, for the package and the executable, and in a checkout when it is first requested.

import { fileURLToPath } from "node:url";

/** The variable with which React leaves out what only developers need. */
const environmentName = ["process", "env", "NODE_ENV"].join(".");

/** Where the script begins. The package and the executable do not contain it. */
export const consoleEntry: string = fileURLToPath(new URL("../console/main.tsx", import.meta.url));

/**
 * Makes one script of src/console and all that it imports.
 * @throws AggregateError with what is wrong
 */
export async function buildConsole(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [consoleEntry],
    target: "browser",
    minify: true,
    define: { [environmentName]: JSON.stringify("production") },
  });
  const [script] = outputs;
  if (!script) throw new Error("the console was not built");
  return script.text();
}
