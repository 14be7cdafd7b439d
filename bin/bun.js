#!/usr/bin/env node
import { runBun } from "./run-bun.js";

runBun(process.argv.slice(2));
