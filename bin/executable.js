// The entry point of the single executable. Like `storefront.js`, it makes sure that Bun gets our runtime settings. Bun only reads them when a process
// starts, so the process replaces itself with the same program and the settings in its environment. That takes 10 ms.

import { runtimeSettings } from "./runtime-settings.js";

const isComplete = Object.keys(runtimeSettings).every((name) => process.env[name] !== undefined);
if (!isComplete && process.platform !== "win32") restart();
await import("../src/main.ts");

/** If the kernel doesn't allow this, for example under an emulator, we go on without the settings. */
function restart() {
  // Silences the warning that `execve` is experimental.
  process.removeAllListeners("warning");
  process.on("warning", () => {});
  try {
    process.execve(process.execPath, [process.argv0, ...process.argv.slice(2)], { ...runtimeSettings, ...process.env });
  } catch {
    // Works without them too, but takes more CPU time.
  }
}
