#!/usr/bin/env node
import { devNull } from "node:os";
import { fileURLToPath } from "node:url";
import { runBun } from "./run-bun.js";
import { runtimeSettings } from "./runtime-settings.js";

// Files in the folder where an operator happens to be must not change what the program does. By default, Bun reads two of them, and one can name
// code to run.
const isolation = ["--no-env-file", `--config=${devNull}`];

runBun(
  [...isolation, fileURLToPath(new URL("../src/main.ts", import.meta.url)), ...process.argv.slice(2)],
  runtimeSettings,
);
