// The tests that a page names, so that none of its statements loses its test unnoticed.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dir, "..");

interface NamedTest {
  /** The file, from the folder `test`, without `.test.ts`. */
  readonly file: string;
  /** The name of a test, or of a case of a table of tests. With `…` at its end, the beginning of the name. */
  readonly name: string;
}

/** Returns the tests in a cell of a table. Each file is followed by names in quotes. */
export function testsIn(cell: string): NamedTest[] {
  return [...cell.matchAll(/`(?:test\/)?([\w./-]+?)(?:\.test\.ts)?`:((?:,? "[^"]+")+)/g)].flatMap(
    ([, file = "", names = ""]) => [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => ({ file, name })),
  );
}

/** Whether the file exists and has a test with this name. */
export function isTest({ file, name }: NamedTest): boolean {
  const path = join(folder, `${file}.test.ts`);
  return existsSync(path) && isIn(readFileSync(path, "utf8"), name);
}

function isIn(text: string, name: string): boolean {
  const literal = name.replace(/…$/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const end = name.endsWith("…") ? "" : '["`],';
  return new RegExp(`[([]\\s*["\`]${literal}${end}`).test(text);
}
