#!/usr/bin/env node
import { devNull } from "node:os";
import { fileURLToPath } from "node:url";
import { runBun } from "./run-bun.js";
import { runtimeSettings } from "./runtime-settings.js";

// Files in the current folder of an operator must not change what the program does. By default, Bun reads two such files, and one of them can name
// code to run.
const isolation = ["--no-env-file", `--config=${devNull}`];

runBun(
  [...isolation, fileURLToPath(new URL("../src/main.ts", import.meta.url)), ...process.argv.slice(2)],
  runtimeSettings,
);
