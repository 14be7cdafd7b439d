// The entry point of the single executable. Like `storefront.js`, it starts the program with the settings for the runtime. Bun reads them when a
// process starts, so the process replaces itself by the same program with these settings in its environment. That takes 10 milliseconds.

import { runtimeSettings } from "./runtime-settings.js";

const isComplete = Object.keys(runtimeSettings).every((name) => process.env[name] !== undefined);
if (!isComplete && process.platform !== "win32") restart();
await import("../src/main.ts");

/** If the kernel does not permit that, for example under an emulator, this process continues without the settings. */
function restart() {
  // The runtime warns that this is experimental.
  process.removeAllListeners("warning");
  process.on("warning", () => {});
  try {
    process.execve(process.execPath, [process.argv0, ...process.argv.slice(2)], { ...runtimeSettings, ...process.env });
  } catch {
    // It costs some CPU time.
  }
}
