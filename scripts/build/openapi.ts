// Writes the committed documents that are derived from the declarations.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { committedDocuments } from "./committed.ts";

const written: string[] = [];
for (const [path, text] of await committedDocuments()) {
  const file = new URL(`../../${path}`, import.meta.url);
  if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
  writeFileSync(file, text);
  written.push(path);
}
console.error(written.length === 0 ? "everything is up to date" : `written: ${written.join(", ")}`);
