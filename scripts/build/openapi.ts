// Writes the committed documents that derive from the declarations. With `--check`, writes nothing, and fails if one is stale.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { committedDocuments } from "./committed.ts";

const isCheck = process.argv.includes("--check");
const stale: string[] = [];

for (const [path, text] of await committedDocuments()) {
  const file = new URL(`../../${path}`, import.meta.url);
  if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
  stale.push(path);
  if (!isCheck) writeFileSync(file, text);
}

if (stale.length === 0) console.error("everything is up to date");
else if (!isCheck) console.error(`written: ${stale.join(", ")}`);
else {
  console.error(`stale: ${stale.join(", ")}; run \`npm run openapi\``);
  process.exit(1);
}
