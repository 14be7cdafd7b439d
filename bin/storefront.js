#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { memorySettings } from "./memory-settings.js";
import { runBun } from "./run-bun.js";

runBun([fileURLToPath(new URL("../src/main.ts", import.meta.url)), ...process.argv.slice(2)], memorySettings);
