#!/usr/bin/env node
import { devNull } from "node:os";
import { fileURLToPath } from "node:url";
import { runBun } from "./run-bun.js";
import { runtimeSettings } from "./runtime-settings.js";

// Files in the current folder mustn't change what the program does. By default, Bun reads two of them, one of which can make it run other code.
const isolation = ["--no-env-file", `--config=${devNull}`];

runBun(
  [...isolation, fileURLToPath(new URL("../src/main.ts", import.meta.url)), ...process.argv.slice(2)],
  runtimeSettings,
);
