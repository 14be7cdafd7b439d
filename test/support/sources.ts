// The files of src, with their texts and imports, for the tests of the rules for the source.

import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** A file of src; its path is relative to src. */
export interface Source {
  readonly file: string;
  readonly text: string;
  /** The files of `src` that it imports, types included. */
  readonly imports: readonly string[];
}

/** All files of src, generated ones too. */
export const sources: Source[] = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(src)]
  .filter((file) => !file.endsWith(".d.ts"))
  .sort()
  .map((file) => {
    const text = readFileSync(join(src, file), "utf8");
    return { file, text, imports: importsOf(file, text) };
  });

/** Returns the files of src that the text of a file of src imports, also at run time and as threads. */
export function importsOf(file: string, text: string): string[] {
  const named = [...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s+"(\.[^"]+)"/gms)].map(
    ([, path]) => path as string,
  );
  const other = [...text.matchAll(/(?:\bimport\(|new URL\()"(\.[^"]+\.tsx?)"/g)].map(([, path]) => path as string);
  return [...named, ...other]
    .map((path) => relative(src, join(src, dirname(file), path)))
    .filter((path) => !path.startsWith("..") && /\.tsx?$/.test(path));
}
