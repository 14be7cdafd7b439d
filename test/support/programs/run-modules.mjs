// Runs JavaScript modules one after the other in one process of Node.js, because starting Node.js takes longer than most examples. Each line of standard
// input is the path of a module; after its output comes the line that is the first argument. Errors of the module are on standard error. This file is
// plain JavaScript for Node.js, like the modules.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [, , end] = process.argv;
const { log } = console;
for await (const path of createInterface({ input: process.stdin })) {
  try {
    await import(pathToFileURL(path).href);
  } catch (error) {
    console.error(error);
  }
  console.log = log;
  log(`\n${end}`);
}
process.exit();
